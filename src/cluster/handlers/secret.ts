/**
 * Comparing a secret with what somebody presents.
 *
 * @module
 */
import { ConfigError } from "../../errors.ts";
import { encodeUtf8 } from "../../wire/text.ts";

/** What a key is made of: the `token68` of RFC 9110, section 11.2, so that a header can carry it. */
const KEY = /^[A-Za-z0-9._~+/-]+=*$/;
const MIN_KEY_LENGTH = 16;
const MAX_KEY_LENGTH = 512;
const MAX_KEYS = 16;

/**
 * Compares two runs of bytes; how long it takes does not tell where they differ.
 *
 * @param a The one.
 * @param b The other, of the same length.
 * @returns Whether they are equal.
 */
export function sameBytes(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}

/**
 * Makes a check of keys. What is presented is hashed like the keys, and the hashes are compared to
 * their last byte with every key: neither a key's length nor its beginning can be found out by timing,
 * nor whether anything was presented.
 *
 * @param keys The key, or several while one replaces another: at most 16, each of 16 to 512 characters
 * of `A-Z a-z 0-9 . _ ~ + / -`, and `=` at the end.
 * @param option What a refusal calls the option.
 * @param same How two hashes are compared.
 * @returns The check: whether what is presented is one of them.
 * @throws {ConfigError} When a key could not be sent, or could be guessed.
 */
export function keyCheck(
  keys: string | readonly string[],
  option: string,
  same: typeof sameBytes = sameBytes,
): (presented: string) => Promise<boolean> {
  const list = typeof keys === "string" ? [keys] : [...keys];
  if (list.length === 0 || list.length > MAX_KEYS) {
    throw new ConfigError(option, `there are ${list.length} keys, there must be 1 to ${MAX_KEYS}`);
  }
  for (const key of list) checkKey(key, option);
  let hashes: Promise<readonly Uint8Array[]> | undefined;
  return async (presented) => {
    // Not before the first request: a Worker's module scope may not wait for anything.
    hashes ??= Promise.all(list.map(sha256));
    const [known, given] = await Promise.all([hashes, sha256(presented)]);
    // Every key, also after one that fits.
    return known.map((hash) => same(hash, given)).includes(true);
  };
}

function checkKey(key: unknown, option: string): void {
  if (typeof key !== "string" || !KEY.test(key)) {
    throw new ConfigError(option, "a key must be of A-Z a-z 0-9 . _ ~ + / - and = at its end");
  }
  if (key.length < MIN_KEY_LENGTH || key.length > MAX_KEY_LENGTH) {
    const bounds = `${MIN_KEY_LENGTH} to ${MAX_KEY_LENGTH}`;
    throw new ConfigError(option, `a key has ${key.length} characters, it must have ${bounds}`);
  }
}

async function sha256(text: string): Promise<Uint8Array> {
  // A header holds no lone surrogates, and a key's were refused.
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encodeUtf8(text) as BufferSource));
}
