/** Vitest runs this before the tests: those that run the `heddle` command run what is installed, compiled from the sources of now. */
import { build, program } from '../../../build.ts';

export default async function setup(): Promise<void> {
  await build();
  process.env['HEDDLE_TEST_PROGRAM'] = program;
}
