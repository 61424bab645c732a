import { configureGlobal } from 'fast-check';
import { SEED } from './seed.ts';

// Vitest loads this before each file of tests: the properties in it draw from that seed.
configureGlobal({ seed: SEED });
