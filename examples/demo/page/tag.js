// @ts-check
/**
 * One name for the whole browser: its tabs share one connection. A person can tell it from others.
 */
const FIRST = "calm,brisk,clear,deep,fair,grey,high,keen,light,long,low,pale,quick,salt,slow,still";
const SECOND =
  "heron,gull,tern,plover,otter,seal,crab,kelp,dune,reef,skerry,sound,buoy,keel,swell,spit";

/** @returns {string} The name; the first page that asks makes it up. */
export function browserTag() {
  const tag = localStorage.getItem("tag") ?? makeUp();
  localStorage.setItem("tag", tag);
  return tag;
}

function makeUp() {
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint8Array(3));
  return `${FIRST.split(",")[a % 16]}-${SECOND.split(",")[b % 16]}-${10 + c % 90}`;
}
