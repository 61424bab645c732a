/**
 * node --expose-gc test/fuzz/main.ts [--inputs N] [--seed N] [--target NAME] [--from N]
 *
 * The long run: a million inputs over all readers, another seed each time. Its first line says how to repeat it; a finding says target, seed and input.
 */
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.ts';
import { TARGETS } from './targets.ts';

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    target: { type: 'string' },
    from: { type: 'string', default: '0' },
  },
});
const [inputs, seed, from] = [values.inputs, values.seed, values.from].map(Number) as [
  number,
  number,
  number,
];
const targets = TARGETS.filter(({ name }) => values.target === undefined || name === values.target);
if (targets.length === 0 || ![inputs, seed, from].every(Number.isSafeInteger)) {
  console.error(`targets: ${TARGETS.map(({ name }) => name).join(', ')}`);
  process.exit(64);
}
const count = Math.ceil(inputs / targets.length);
console.log(`npm run fuzz -- --seed ${seed} --inputs ${inputs}`);
let findings = 0;
for (const target of targets) {
  const began = performance.now();
  try {
    await fuzz(target, seed, { from, count });
    console.log(
      `${target.name}: ${count} inputs in ${((performance.now() - began) / 1000).toFixed(1)} s`,
    );
  } catch (error) {
    findings += 1;
    console.log(error instanceof Error ? error.message : String(error));
  }
}
process.exitCode = findings === 0 ? 0 : 1;
