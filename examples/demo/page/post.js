// @ts-check
/**
 * Asks the demo's server to do something.
 *
 * @param {string} url
 * @param {object} body
 * @returns {Promise<{ ok: true, body: { n: number, epoch: string, hub: number } } |
 *   { ok: false, error: string }>}
 */
export async function post(url, body) {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    return response.ok ? { ok: true, body: answer } : { ok: false, error: answer.code };
  } catch {
    return { ok: false, error: "the server does not answer" };
  }
}
