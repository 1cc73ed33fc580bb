/**
 * Debian's nginx before several pods at once, with connections to them that are kept. Runs under Deno.
 *
 * @module
 */
import { eventually } from "../support/poll.ts";
import { freePort } from "../support/port.ts";
import { NGINX } from "./nginx_server.ts";

/** A running nginx. */
export interface BalancingNginx extends AsyncDisposable {
  /** Its port. */
  readonly port: number;
}

/**
 * Starts nginx. When to try the next pod is at its default: on an error or a timeout, not on a 503.
 *
 * @param pods Their ports; they take turns.
 * @returns The balancer, once it listens.
 */
export async function startBalancingNginx(pods: readonly number[]): Promise<BalancingNginx> {
  const folder = await Deno.makeTempDir({ prefix: "nginx-" });
  const port = await freePort();
  await Deno.writeTextFile(`${folder}/nginx.conf`, config(folder, port, pods));
  // When it is started by root its workers are nobody, and they write their temporary files here.
  await Deno.chmod(folder, 0o777);
  const child = new Deno.Command(NGINX, {
    args: ["-p", folder, "-c", `${folder}/nginx.conf`, "-e", `${folder}/error.log`],
    stdout: "null",
    stderr: "null",
  }).spawn();
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child.status;
    await Deno.remove(folder, { recursive: true });
  };
  try {
    await eventually(async () => {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      connection.close();
      return true;
    }, { what: "nginx to listen" });
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, [Symbol.asyncDispose]: stop };
}

function config(folder: string, port: number, pods: readonly number[]): string {
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `
daemon off;
pid ${folder}/pid;
worker_processes 1;
events { worker_connections 256; }
http {
  access_log off;
  ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join("\n  ")}
  upstream pods {
    ${pods.map((pod) => `server 127.0.0.1:${pod};`).join("\n    ")}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://pods;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`;
}
