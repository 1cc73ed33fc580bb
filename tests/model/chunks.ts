/**
 * Bytes in pieces: every way to cut a short stream, and one arbitrary way to cut a long one.
 *
 * @module
 */
import fc from "fast-check";

/** The bytes of a text. */
export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The text of bytes; what is not UTF-8 becomes U+FFFD, a byte order mark stays. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/**
 * Cuts bytes at the given places.
 *
 * @param bytes What to cut.
 * @param cuts Where, in any order; a repeated one makes an empty chunk.
 * @returns The chunks, copied, so that no chunk can read beyond its own end.
 */
export function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const sorted = [...cuts].sort((a, b) => a - b);
  const chunks: Uint8Array[] = [];
  let from = 0;
  for (const cut of [...sorted, bytes.length]) {
    chunks.push(bytes.slice(from, cut));
    from = cut;
  }
  return chunks;
}

/** Every way to cut bytes in two, then every byte by itself. */
export function* everyCut(bytes: Uint8Array): Generator<Uint8Array[]> {
  for (let cut = 0; cut <= bytes.length; cut++) yield cutAt(bytes, [cut]);
  yield cutAt(bytes, Array.from(bytes, (_, i) => i));
}

/** Cuts bytes into pieces of one size. */
export function* piecesOf(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Fractions of a length, to be scaled to it by {@linkcode scaled}. */
export const someCuts: fc.Arbitrary<number[]> = fc.array(fc.nat({ max: 1_000_000 }), {
  maxLength: 12,
});

/** Turns arbitrary numbers into places within a length. */
export function scaled(cuts: readonly number[], length: number): number[] {
  return cuts.map((cut) => cut % (length + 1));
}
