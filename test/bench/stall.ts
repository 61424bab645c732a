/** Longest time, in milliseconds, between two ticks of a timer of one millisecond while something ran. */
export async function worstStall(action: () => Promise<void>): Promise<number> {
  let last = performance.now();
  let worst = 0;
  const tick = (): void => {
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
  };
  const timer = setInterval(tick, 1);
  try {
    await action();
  } finally {
    clearInterval(timer);
    // What held up the loop last may be what ended the action.
    tick();
  }
  return worst;
}
