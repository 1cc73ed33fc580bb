/**
 * A brute-force judge of UTF-8: a sequence is valid when a strict decoder takes it by itself.
 *
 * @module
 */

/**
 * Where bytes stop being UTF-8, found by trying every length of sequence at every place.
 *
 * @param bytes The bytes.
 * @returns The index at which the first broken sequence starts; −1 when all are valid.
 */
export function firstInvalidByte(bytes: Uint8Array): number {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const isOneCharacter = (sequence: Uint8Array): boolean => {
    try {
      return [...decoder.decode(sequence)].length === 1;
    } catch {
      return false;
    }
  };
  let at = 0;
  scan: while (at < bytes.length) {
    for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
      if (isOneCharacter(bytes.slice(at, at + length))) {
        at += length;
        continue scan;
      }
    }
    return at;
  }
  return -1;
}

/**
 * Where a string first holds a surrogate without its other half, found character by character.
 *
 * @param text The string.
 * @returns The UTF-16 index; −1 when there is none.
 */
export function firstLoneSurrogate(text: string): number {
  let at = 0;
  // A string's iterator gives a whole pair as one and a half by itself.
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0xd800 && code <= 0xdfff) return at;
    at += character.length;
  }
  return -1;
}
