import { expect, test } from 'vitest';
import { SeededRandom } from '../../support/run/seeded-random.ts';
import { ZoneHistory } from '../../support/zone/zone-history.ts';

/** HEDDLE_HISTORIES=1000 runs more of them, HEDDLE_SEED=1234 the ones of a run that failed. */
const HISTORIES = Number(process.env['HEDDLE_HISTORIES'] ?? 3);
const STEPS = 25;

test(
  'whatever happens to objects, databases and daemon, a settled zone is what a new daemon makes of it',
  { timeout: 60_000 + HISTORIES * 60_000 },
  async () => {
    const first = new SeededRandom().seed;
    for (let seed = first; seed < first + HISTORIES; seed++) {
      const history = new ZoneHistory(new SeededRandom(seed));
      try {
        await history.begin();
        for (let step = 0; step < STEPS; step++) await history.step();
        await history.end();
      } catch (error) {
        const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
        const before = history.log.slice(-40).map((line) => line.slice(0, 200));
        expect.fail(`HEDDLE_SEED=${seed}\n${before.join('\n')}\n${said}`);
      }
    }
  },
);
