/**
 * A shared worker that counts who greets it.
 *
 * @module
 */

const life = crypto.randomUUID();
let greetings = 0;

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  port.onmessage = () => port.postMessage({ life, greetings: ++greetings });
});

export {};
