const { HEDDLE_SEED: asked = '20250101' } = process.env;

/**
 * Where random choices of the tests start: the same in every run, so that what breaks nothing stays green. `HEDDLE_SEED=1234` repeats the choices of a
 * run that named this seed, `HEDDLE_SEED=random` makes others.
 */
export const SEED = asked === 'random' ? Math.floor(Math.random() * 1e9) : Number(asked);

if (!Number.isInteger(SEED))
  throw new Error(`HEDDLE_SEED must be "random" or an integer, not "${asked}"`);
