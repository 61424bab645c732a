/** The order of files of tests: what takes long begins first, so that no worker is left alone with it at the end. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Half a minute and more, the longest first; in virtual machines programs start slowly. The others are short or begin early by their size. */
const LONG = [
  'e2e/matrix-local-gateway',
  'e2e/host',
  'e2e/local-gateway',
  'e2e/vm',
  'e2e/matrix',
  'e2e/lab',
  'e2e/demo',
  'integration/cluster/any-order',
  'integration/cluster/kubernetes',
  'integration/cli/commands',
  'integration/cli/render',
  'integration/ovsdb/chaos',
  'integration/ovsdb/cluster-crashes',
  'integration/api/rules',
  'integration/cni/cni',
].map((name) => `/test/${name}.test.ts`);

const place = ({ moduleId }: TestSpecification): number => {
  const found = LONG.findIndex((name) => moduleId.endsWith(name));
  return found === -1 ? LONG.length : found;
};

export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
