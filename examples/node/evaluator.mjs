// Scores whose hand was last: the share of the goals about an entity that the agent was the last to change.
//
//     parthack stress exec:'node --jitless examples/node/evaluator.mjs'
//
// The protocol: a hello line, then one answer line for each payload line. Node 18 or newer, no packages; --jitless is
// needed where the sandbox refuses memory that is writable and executable.
import { createInterface } from 'node:readline';

const hello = { protocol: 'parthack.evaluator/1', name: 'last-hand', version: '1', deterministic: true };

function* leaves(predicate) {
  const parts = predicate.of === undefined ? [] : [predicate.of].flat();
  if (parts.length === 0) yield predicate;
  for (const part of parts) yield* leaves(part);
}

function score(payload) {
  const lastEvent = new Map();
  payload.events.forEach((event, index) => lastEvent.set(JSON.stringify([event.type, event.id]), index));
  let goals = 0;
  let byAgent = 0;
  const cites = new Set();
  for (const goal of payload.goal_schema) {
    const named = [...leaves(goal.predicate)].filter((leaf) => leaf.id !== undefined);
    if (named.length === 0) continue;
    goals += 1;
    const last = named.map((leaf) => lastEvent.get(JSON.stringify([leaf.type, leaf.id])));
    if (last.every((index) => index !== undefined && payload.events[index].actor === 'agent')) {
      byAgent += 1;
      for (const index of last) cites.add(`/events/${index}`);
    }
  }
  if (goals === 0) return { no_verdict: 'no goal names an entity' };
  return { score: byAgent / goals, detail: { goals, by_agent: byAgent }, cites: [...cites] };
}

function answer(line) {
  try {
    const payload = JSON.parse(line);
    return payload.protocol === undefined ? score(payload) : undefined; // The host may say hello too.
  } catch (error) {
    return { no_verdict: `${error.name}: ${error.message}` };
  }
}

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
process.stdout.on('error', () => process.exit(0)); // The host reads no more.

say(hello);
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim() === '') continue;
  const message = answer(line);
  if (message !== undefined) say(message);
}
