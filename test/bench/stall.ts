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

export async function worstStall(action: () => Promise<void>): Promise<Stall> {
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
  const timer = setInterval(tick, 1);
  try {
    await action();
  } finally {
    clearInterval(timer);
    // What held up the loop last may be what ended the action.
    tick();
  }
  return { wall, processor };
}
