/**
 * Which topics somebody gets.
 *
 * @module
 */
import { TopicError } from "../../errors.ts";
import { checkTopic, MAX_TOPICS } from "../../wire/topic.ts";
import { forbidden } from "./access.ts";
import { HttpRefusal } from "./refuse.ts";
import type { Authorize, Identity } from "./types.ts";
import type { Questions } from "./who.ts";

/**
 * Refuses everybody where the application does not say who may listen to what.
 *
 * @param authorize What the application passed.
 * @returns The same.
 * @throws {HttpRefusal} 403 `forbidden`.
 */
export function needsAuthorize(authorize: Authorize | undefined): Authorize {
  if (authorize !== undefined) return authorize;
  throw forbidden("Nobody may listen to anything here");
}

/**
 * Checks a topic that a client named.
 *
 * @param topic The topic.
 * @throws {HttpRefusal} 400 `sse_topics`.
 */
export function checkAskedTopic(topic: string): void {
  try {
    checkTopic(topic);
  } catch (error) {
    if (error instanceof TopicError) throw badTopics(error.message);
    throw error;
  }
}

/**
 * Puts topics to the application, all of them at once: how long it takes does not tell which was
 * refused.
 *
 * @param identity Who asks.
 * @param topics For what; within the grammar.
 * @param request By which request.
 * @param authorize The application.
 * @returns Nothing at once when it answered at once; else a promise.
 * @throws {HttpRefusal} 403 `forbidden` unless it answered `true` for each.
 */
export function authorizeAll(
  identity: Identity,
  topics: readonly string[],
  request: Request,
  authorize: Authorize,
): void | Promise<void> {
  const { user, account } = identity;
  const answers = topics.map((topic) => {
    try {
      return authorize({ user, account, topic, request });
    } catch (error) {
      // Those that were asked before may reject, too, and somebody must hear it.
      return Promise.reject(error);
    }
  });
  const judge = (allowed: readonly boolean[]): void => {
    if (!allowed.every((one) => one === true)) throw forbidden("You may not listen to this");
  };
  const settled = answers.filter((answer) => typeof answer === "boolean");
  if (settled.length === answers.length) return judge(settled);
  return Promise.all(answers).then(judge);
}

/**
 * The topics of a stream: those that are bound to somebody, and those that were asked for and allowed.
 *
 * @param identity Who asks.
 * @param asked What for, as it came.
 * @param request By which request.
 * @param questions The application.
 * @returns 1 to 256 topics, never everything; at once when the application answered at once.
 * @throws {HttpRefusal} 403 `forbidden`; 400 `sse_topics` when there are none, too many, or one is
 * outside the grammar.
 */
export function topicsFor(
  identity: Identity,
  asked: readonly string[],
  request: Request,
  questions: Pick<Questions, "authorize" | "boundTopics">,
): readonly string[] | Promise<readonly string[]> {
  const authorize = needsAuthorize(questions.authorize);
  // Before they are looked at one by one, and put to the application.
  if (asked.length > MAX_TOPICS) throw tooMany(asked.length);
  for (const topic of asked) checkAskedTopic(topic);
  const bound = new Set(questions.boundTopics?.(identity) ?? []);
  for (const topic of bound) checkTopic(topic);
  const more = [...new Set(asked)].filter((topic) => !bound.has(topic));
  const topics = [...bound, ...more];
  if (topics.length === 0) throw badTopics("There is no topic to listen to");
  if (topics.length > MAX_TOPICS) throw tooMany(topics.length);
  const allowed = authorizeAll(identity, more, request, authorize);
  return allowed instanceof Promise ? allowed.then(() => topics) : topics;
}

function tooMany(count: number): HttpRefusal {
  return badTopics(`There are ${count} topics, the most is ${MAX_TOPICS}`);
}

function badTopics(message: string): HttpRefusal {
  return new HttpRefusal(400, "sse_topics", message);
}
