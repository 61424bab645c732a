/** The program of `Prover`: proves the node that it runs on for each line that it gets, and answers with a line of JSON. */
import { Command } from 'commander';
import { createInterface } from 'node:readline';
import { addSettings, configurationOf, needed } from '../../../../src/cli/options.ts';
import { snapshotOf } from '../../../../src/cli/proof-snapshot.ts';
import { prove } from '../../../../src/verify/verify.ts';

const MOST_MS = 120_000;

const program = new Command();
addSettings(program, ['where', 'tls', 'cluster', 'behaviour']).action(async () => {
  const configuration = needed(configurationOf(program), 'node', 'nb');
  for await (const line of createInterface(process.stdin)) {
    if (line !== 'prove') throw new Error(`asked for ${line}`);
    const snapshot = await snapshotOf(configuration, AbortSignal.timeout(MOST_MS));
    const { violations, undecided } = prove(snapshot).verdict;
    process.stdout.write(`${JSON.stringify({ violations, undecided })}\n`);
  }
});
await program.parseAsync();
