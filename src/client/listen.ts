/**
 * Listening to several events of one target, and leaving all of them at once.
 *
 * @module
 */

/** A target of events; in a scope that has none there is nothing to hear. */
export interface Listenable {
  addEventListener?(type: string, listener: (event: Event) => void): void;
  removeEventListener?(type: string, listener: (event: Event) => void): void;
}

/**
 * Listens.
 *
 * @param target Whom to.
 * @param listeners What to call, by the event's type.
 * @returns Stops listening.
 */
export function listen(
  target: Listenable,
  listeners: Readonly<Record<string, (event: Event) => void>>,
): () => void {
  const each = Object.entries(listeners);
  for (const [type, heard] of each) target.addEventListener?.(type, heard);
  return () => {
    for (const [type, heard] of each) target.removeEventListener?.(type, heard);
  };
}
