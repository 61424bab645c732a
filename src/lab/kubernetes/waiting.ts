import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../../store/store.ts';
import { telling } from '../../process/waiting.ts';
import { LabError } from '../paths.ts';

const LIMIT_MS = 60_000;
const PAUSE_MS = 100;

/** Asks an API server that starts, or takes something up, until that succeeds; fails with its last error. */
export async function awaitSuccess(
  what: string,
  ask: () => Promise<void>,
  progress: (line: string) => void = () => undefined,
): Promise<void> {
  let last = '';
  const asked = success(what, ask, (answer) => (last = `; the last answer was: ${answer}`));
  await telling(() => `${what}${last}`, progress, asked);
}

async function success(
  what: string,
  ask: () => Promise<void>,
  answered: (answer: string) => void,
): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  for (;;)
    try {
      await ask();
      return;
    } catch (error) {
      if (!(error instanceof StoreError || error instanceof LabError)) throw error;
      answered(error.message);
      if (performance.now() > end)
        throw new LabError(
          `waited ${LIMIT_MS / 1000} s for ${what}; the last answer was: ${error.message}`,
          { cause: error },
        );
      await sleep(PAUSE_MS);
    }
}
