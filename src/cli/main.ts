#!/usr/bin/env node
/** Starts the `heddle` command. It imports nothing before it knows that this Node.js can: what an older one has not is an error of its own at the first import. */
const OLDEST_NODE = 22;

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  process.stderr.write(
    `heddle needs Node.js ${OLDEST_NODE} or newer; this is ${process.version}\n`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import('./program.ts');
  await main();
}
