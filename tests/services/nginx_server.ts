/**
 * Debian's nginx with a configuration of its own, in front of several servers.
 *
 * @module
 */
import { eventually } from "../support/poll.ts";
import { freePort } from "../support/port.ts";
import { available } from "../support/require.ts";

/** The program; it stands outside the `PATH` of most users. */
export const NGINX: string = available("nginx") ? "nginx" : "/usr/sbin/nginx";

/** A running nginx. */
export interface Nginx {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  /** Stops it. */
  stop(): Promise<void>;
}

/**
 * Starts nginx. All about proxying is at its default, but for the read timeout.
 *
 * @param upstreams Servers by the first part of the path that leads to each.
 * @param readTimeout `proxy_read_timeout`.
 * @returns The proxy, once it answers.
 */
export async function startNginx(
  upstreams: Readonly<Record<string, string>>,
  readTimeout: string,
): Promise<Nginx> {
  const folder = await Deno.makeTempDir({ prefix: "nginx-" });
  const port = await freePort();
  await Deno.writeTextFile(`${folder}/nginx.conf`, config(folder, port, upstreams, readTimeout));
  // When it is started by root its workers are nobody, and they write their temporary files here.
  await Deno.chmod(folder, 0o777);
  const child = new Deno.Command(NGINX, {
    args: ["-p", folder, "-c", `${folder}/nginx.conf`, "-e", `${folder}/error.log`],
    stdout: "null",
    stderr: "null",
  }).spawn();
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    // SIGTERM is its fast shutdown: it does not wait for open streams.
    child.kill("SIGTERM");
    await child.status;
    await Deno.remove(folder, { recursive: true });
  };
  let ended = false;
  child.status.then(() => ended = true);
  try {
    await eventually(async () => {
      if (ended) return true;
      const answer = await fetch(`${url}/`);
      await answer.body?.cancel();
      return true;
    }, { what: "nginx to answer" });
    if (ended) throw new Error(await Deno.readTextFile(`${folder}/error.log`));
  } catch (error) {
    if (!ended) await stop();
    throw error;
  }
  return { url, stop };
}

function config(
  folder: string,
  port: number,
  upstreams: Readonly<Record<string, string>>,
  readTimeout: string,
): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`);
  const locations = Object.entries(upstreams)
    .map(([path, url]) => `location /${path}/ { proxy_pass ${url}/; }`);
  return `
    daemon off;
    worker_processes 1;
    pid ${folder}/nginx.pid;
    events { worker_connections 512; }
    http {
      access_log off;
      ${temporary.join("\n      ")}
      server {
        listen 127.0.0.1:${port};
        proxy_read_timeout ${readTimeout};
        location / { return 204; }
        ${locations.join("\n        ")}
      }
    }
  `;
}
