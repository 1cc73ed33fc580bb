/**
 * Reading JSON that a peer sent.
 *
 * @module
 */

/**
 * Reads an object of JSON.
 *
 * @param text Any text.
 * @returns Its fields; `null` when it is no JSON, or not of an object.
 */
export function readObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? value as Record<string, unknown>
      : null;
  } catch {
    return null;
  }
}
