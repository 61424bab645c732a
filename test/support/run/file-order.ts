/**
 * The order of files of tests: what takes long begins first, so that no worker is left alone with it at the end. What counts every packet of a move
 * comes last, when the virtual machine beside it has come to its end.
 */
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
  'integration/cli/node-command',
  'integration/cli/apply',
  'integration/cli/commands',
  'integration/cli/render',
  'integration/ovsdb/chaos',
  'integration/ovsdb/cluster-crashes',
  'integration/api/rules',
  'integration/cni/cni',
].map((name) => `/test/${name}.test.ts`);

const LAST = [
  'e2e/egress-service',
  'e2e/egress-fence',
  'e2e/egress-failover',
  'e2e/faults',
  'e2e/virtual-machines',
].map((name) => `/test/${name}.test.ts`);

const place = ({ moduleId }: TestSpecification): number => {
  const placeIn = (names: readonly string[]): number =>
    names.findIndex((name) => moduleId.endsWith(name));
  const [first, last] = [placeIn(LONG), placeIn(LAST)];
  return first === -1 ? LONG.length + 1 + last : first;
};

export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
