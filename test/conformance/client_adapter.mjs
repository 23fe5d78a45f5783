// The client that the suite tests: it runs `node client_adapter.mjs URL` with the scenario's name in the
// environment. The client is mcpxd, with URL as its one server; what a user would do is played by a client
// of ours that talks to mcpxd. Silent when all went well; gone, with all that it started, long before the
// suite's limit of 30 s, as the suite waits for ever for what it cannot kill.
import { scenarios } from './client_scenarios.mjs';
import { Daemon } from '../e2e/lib/daemon.mjs';
import { within } from '../e2e/lib/wait.mjs';

const LIMIT = 10_000;  // and up to 18 s to end what does not want to
const name = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const url = process.argv[2];

// Stands for the test that a daemon of the end-to-end tests is started for.
const cleanups = [];
const test = { name: `client ${name}`, after: (cleanup) => cleanups.push(cleanup) };
let daemon;

async function play() {
  const { drive, server } = scenarios[name] ?? {};
  if (!drive) throw new Error(`no client for the scenario ${name} in client_scenarios.mjs`);
  daemon = await Daemon.start(test, { shutdown_grace: '1s',
    servers: { upstream: { url, prefix: '', ...server } } });
  const shown = await daemon.server('upstream');
  if (shown.state !== 'ready') throw new Error(`the server is ${shown.state}: ${shown.error?.message}`);
  await drive(daemon, context);
}

try {
  await within(`scenario ${name}`, LIMIT, play());
} catch (error) {
  complain(error);
}
for (const cleanup of cleanups) {
  try {
    await cleanup();
  } catch (error) {
    complain(error);
  }
}
process.exit();

function complain(error) {
  console.error(error.message);
  if (process.exitCode !== 1 && daemon) console.error(daemon.tail(30));
  process.exitCode = 1;
}
