// Rooms to talk in. Open the page twice, take one of them off the network, and talk in the other.
import * as React from "react";
import { createRoot } from "react-dom/client";
import { createHooks } from "@tidemark/sse/react";

// In a project of more than one file: a file of its own, which exports the three.
const { useFrames, useStream, useStreamState } = createHooks(React);

function Room({ name }) {
  const room = useStream({
    url: `/events?room=${name}`,
    initial: [],
    // A line that came while all of them were fetched comes twice: the second time it is known.
    reduce(lines, { data }) {
      const line = JSON.parse(data);
      return line.number > (lines.at(-1)?.number ?? 0) ? [...lines, line] : lines;
    },
    // At first, and whenever the server cannot send what was missed.
    async revalidate({ signal }) {
      const response = await fetch(`/lines?room=${name}`, { signal });
      if (!response.ok) throw new Error(`The lines were answered with ${response.status}`);
      return await response.json();
    },
  });
  const lines = useFrames(room);
  return (
    <main>
      <p>
        {name}: <output>{useStreamState(room)}</output>
      </p>
      <ol>{lines.map(({ number, text }) => <li key={number}>{text}</li>)}</ol>
      <Say room={name} />
    </main>
  );
}

function Say({ room }) {
  const say = async (form) => {
    const body = form.get("text");
    await fetch(`/lines?room=${room}`, { method: "POST", body });
  };
  return (
    <form action={say}>
      <input name="text" aria-label="What to say" required />
      <button type="submit">Say</button>
    </form>
  );
}

function App() {
  const [name, enter] = React.useState("lobby");
  return (
    <>
      {["lobby", "kitchen"].map((each) => (
        <button
          type="button"
          key={each}
          disabled={each === name}
          onClick={() => enter(each)}
        >
          {each}
        </button>
      ))}
      <Room name={name} />
    </>
  );
}

createRoot(document.body).render(
  <React.StrictMode>
    <App />
  </React.StrictMode>,
);
