/** Rounds of Open vSwitch over what it has cached, which end when a test says so. */
import { setImmediate } from 'node:timers/promises';

export function rounds() {
  const open: (() => void)[] = [];
  let begun = 0;
  return {
    revalidated: (): Promise<void> =>
      new Promise((resolve) => {
        begun += 1;
        open.push(resolve);
      }),
    begun: (): number => begun,
    /** Ends the oldest one. */
    end: async (): Promise<void> => {
      open.shift()?.();
      await setImmediate();
    },
  };
}
