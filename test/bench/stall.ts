/** Longest time that the event loop stood still while something ran, in milliseconds. */
export interface Stall {
  /** Between two ticks of a timer of one millisecond: other programs that take the processor away count, too. */
  readonly wall: number;
  /** Processor time of the main thread between two ticks: what this program itself did without a pause. */
  readonly processor: number;
}

const processorTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Milliseconds between two looks whether there is anything to measure. */
const LOOK = 20;

/**
 * `isUnderWay` says when to begin: a timer of one millisecond costs as much as the work itself when the work has to be waited for some
 * seconds.
 */
export async function worstStall(
  action: () => Promise<void>,
  isUnderWay: () => boolean = () => true,
): Promise<Stall> {
  let last = performance.now();
  let lastProcessor = processorTime();
  let wall = 0;
  let processor = 0;
  const tick = (): void => {
    const [now, used] = [performance.now(), processorTime()];
    wall = Math.max(wall, now - last);
    processor = Math.max(processor, used - lastProcessor);
    [last, lastProcessor] = [now, used];
  };
  let timer = setInterval(look, LOOK);
  function look(): void {
    if (!isUnderWay()) {
      [last, lastProcessor] = [performance.now(), processorTime()];
      return;
    }
    clearInterval(timer);
    timer = setInterval(tick, 1);
    tick();
  }
  look();
  try {
    await action();
  } finally {
    clearInterval(timer);
    // What held up the loop last may be what ended the action.
    tick();
  }
  return { wall, processor };
}
