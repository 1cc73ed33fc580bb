/**
 * The bodies of requests: read within a bound, and field by field.
 *
 * @module
 */
import { BODY_MS, readBody } from "../../hub/body.ts";
import type { Clock } from "../../hub/clock.ts";
import { checkedText } from "../../wire/text.ts";
import { HttpRefusal } from "./refuse.ts";

/** The largest body by default, in bytes. */
export const MAX_BODY_BYTES = 65_536;

/** What a body may be, and what its refusals are called. */
export interface BodyRules {
  /** What the codes of the refusals begin with. */
  readonly route: string;
  /** The largest body, in bytes. */
  readonly maxBytes: number;
  /** By which its time is measured; the system's. */
  readonly clock?: Clock | undefined;
}

/**
 * The media type of a body, without its parameters.
 *
 * @param request The request.
 * @returns The type in lower case; `""` without one.
 */
export function mediaType(request: Request): string {
  const [essence = ""] = (request.headers.get("Content-Type") ?? "").split(";", 1);
  return essence.trim().toLowerCase();
}

/**
 * Reads a body. The bound is counted while reading; a longer Content-Length is refused before.
 *
 * @param request The request.
 * @param rules The bound, and the names of the refusals.
 * @returns The bytes.
 * @throws {HttpRefusal} 413 `…_too_large`; 408 `…_timeout` when it takes over 30 s; 400 `…_body` when it
 * could not be read.
 */
export async function readBytes(request: Request, rules: BodyRules): Promise<Uint8Array> {
  const { route, maxBytes } = rules;
  const tooLarge = (): HttpRefusal =>
    new HttpRefusal(413, `${route}_too_large`, `The body is over ${maxBytes} bytes`);
  if (Number(request.headers.get("Content-Length")) > maxBytes) throw tooLarge();
  // A client that leaves half-way is nobody's error.
  const body = await readBody(request, maxBytes, rules.clock).catch((): "left" => "left");
  if (body === "too_large") throw tooLarge();
  if (body === "late") {
    throw new HttpRefusal(408, `${route}_timeout`, `The body took over ${BODY_MS / 1000} s`);
  }
  if (body === "left") throw new HttpRefusal(400, `${route}_body`, "The body could not be read");
  return body;
}

/** The fields of a JSON object. One that is missing or `null` has its zero; unknown ones are ignored. */
export class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #code: string;

  /**
   * @param fields What was parsed.
   * @param code The code of a refusal.
   */
  constructor(fields: Readonly<Record<string, unknown>>, code: string) {
    this.#fields = fields;
    this.#code = code;
  }

  /**
   * Reads a body of JSON.
   *
   * @param request The request.
   * @param rules The bound, and the names of the refusals. `optional`: a request without a
   * Content-Type and without a body is the zero request.
   * @returns The fields.
   * @throws {HttpRefusal} 415 `…_content_type`, 413 `…_too_large`, 408 `…_timeout`, 400 `…_body`.
   */
  static async read(
    request: Request,
    rules: BodyRules & { readonly optional?: boolean },
  ): Promise<Fields> {
    const code = `${rules.route}_body`;
    const type = mediaType(request);
    if (type !== "application/json") {
      // A form of another site can send a body too, but none of this type.
      const empty = rules.optional === true && type === "" &&
        (await readBytes(request, rules)).length === 0;
      if (empty) return new Fields({}, code);
      throw new HttpRefusal(
        415,
        `${rules.route}_content_type`,
        "The content type must be application/json",
      );
    }
    return new Fields(parseObject(await readBytes(request, rules), code), code);
  }

  /** Whether a field is there, and not `null`. */
  has(name: string): boolean {
    return this.field(name) !== undefined;
  }

  /** What stands there, whatever it is; `undefined` when it is missing or `null`. */
  field(name: string): unknown {
    return this.#fields[name] ?? undefined;
  }

  /** A string; `""` when it is missing. */
  text(name: string): string {
    const value = this.field(name) ?? "";
    if (typeof value !== "string") throw this.wrong(`${name} must be a string`);
    return value;
  }

  /** A boolean; false when it is missing. */
  flag(name: string): boolean {
    const value = this.field(name) ?? false;
    if (typeof value !== "boolean") throw this.wrong(`${name} must be a boolean`);
    return value;
  }

  /** A list of strings; empty when it is missing. */
  texts(name: string): readonly string[] {
    const value = this.field(name) ?? [];
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    throw this.wrong(`${name} must be a list of strings`);
  }

  /** The refusal of a body whose fields are not what they must be. */
  wrong(message: string): HttpRefusal {
    return new HttpRefusal(400, this.#code, message);
  }
}

function parseObject(bytes: Uint8Array, code: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    // Strict: a text that was mended on its way would be published as it never was.
    value = JSON.parse(checkedText(bytes));
  } catch {
    throw new HttpRefusal(400, code, "The body is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new HttpRefusal(400, code, "The body is not a JSON object");
  }
  return value as Readonly<Record<string, unknown>>;
}
