/**
 * W3C WebDriver over HTTP: as much of it as a tab needs.
 *
 * @module
 */

const REQUEST_MS = 15_000;
const SCRIPT_MS = 9_000;
const LOAD_MS = 9_000;

/** A session: one browser with a profile of its own. */
export class WebDriverSession {
  readonly #base: string;
  /** A session has one current window: to choose it and to act on it must be one step. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(base: string) {
    this.#base = base;
  }

  /**
   * Starts a browser.
   *
   * @param driver The driver's address.
   * @param capabilities What the browser must be.
   * @returns The session, and what the browser says it is.
   */
  static async start(
    driver: string,
    capabilities: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly session: WebDriverSession; readonly version: string }> {
    const body = { capabilities: { alwaysMatch: capabilities } };
    const answer = await post(`${driver}/session`, body) as {
      readonly sessionId: string;
      readonly capabilities: { readonly browserName: string; readonly browserVersion: string };
    };
    const { browserName, browserVersion } = answer.capabilities;
    const session = new WebDriverSession(`${driver}/session/${answer.sessionId}`);
    await post(`${session.#base}/timeouts`, { script: SCRIPT_MS, pageLoad: LOAD_MS });
    return { session, version: `${browserName}/${browserVersion}` };
  }

  /** The first window's handle. */
  async firstWindow(): Promise<string> {
    return await call("GET", `${this.#base}/window`) as string;
  }

  /** Opens a window; returns its handle. */
  async newWindow(): Promise<string> {
    return await this.#next(async () => {
      const { handle } = await post(`${this.#base}/window/new`, { type: "window" }) as {
        readonly handle: string;
      };
      return handle;
    });
  }

  /** A command on a window. */
  async on(handle: string, method: "GET" | "POST" | "DELETE", path: string, body?: unknown) {
    return await this.#next(async () => {
      await post(`${this.#base}/window`, { handle });
      return await call(method, `${this.#base}${path}`, body);
    });
  }

  /** Ends the browser. */
  async end(): Promise<void> {
    await call("DELETE", this.#base);
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

function post(url: string, body: unknown): Promise<unknown> {
  return call("POST", url, body);
}

async function call(method: string, url: string, body?: unknown): Promise<unknown> {
  // What follows the session's id says which command it is.
  const command = `${method} ${url.replace(/^.*\/session(\/[^/]*)?/, "")}`;
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      body: method === "POST" ? JSON.stringify(body ?? {}) : undefined,
      signal: AbortSignal.timeout(REQUEST_MS),
    });
  } catch (cause) {
    throw new Error(`WebDriver did not answer ${command}: ${String(cause)}`, { cause });
  }
  const { value } = await response.json() as { readonly value: unknown };
  if (!response.ok) {
    const { error, message } = value as { readonly error: string; readonly message: string };
    throw new Error(`WebDriver refused ${command}: ${error} ${message}`);
  }
  return value;
}
