/** A lab of two nodes with the three namespaces of network-spaces.ts, and a pod of each on each node: `near` on n1, `far` on n2. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Endpoint } from '../../../src/lab/connectivity.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { ownFolder } from '../run/left-behind.ts';
import { testLab, type TestLab } from './lab.ts';
import { manifestsText, podOn, spaceObjects, SPACES, type Space } from './network-spaces.ts';
import { Tenants } from './tenants.ts';

export class SpaceLab implements AsyncDisposable {
  readonly tenants: Tenants;
  readonly #lab: TestLab;
  readonly #folder: string;
  readonly #ends: readonly Endpoint[];

  private constructor(lab: TestLab, folder: string, tenants: Tenants, ends: readonly Endpoint[]) {
    this.#lab = lab;
    this.#folder = folder;
    this.tenants = tenants;
    this.#ends = ends;
  }

  static async start(name: string): Promise<SpaceLab> {
    const folder = ownFolder(`heddle-${name}`);
    const objects = SPACES.flatMap((space) => [
      ...spaceObjects(space),
      podOn('n1', space, 'near'),
      podOn('n2', space, 'far'),
    ]);
    writeFileSync(join(folder, 'spaces.yaml'), manifestsText(objects));
    const lab = await testLab(name, { nodes: 2, families: 'dual' });
    const tenants = new Tenants(lab.record, { folder });
    await tenants.start();
    return new SpaceLab(lab, folder, tenants, await tenants.endpoints());
  }

  get record(): LabRecord {
    return this.#lab.record;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true });
    await this.#lab[Symbol.asyncDispose]();
  }

  pod(space: Space, name: 'near' | 'far'): Endpoint {
    const found = this.#ends.find((end) => end.pod === `${space}/${name}`);
    if (found === undefined) throw new Error(`no pod ${space}/${name}`);
    return found;
  }

  /** In the daemons' folder, until `withdraw`. */
  declare(file: string, objects: readonly object[]): void {
    writeFileSync(join(this.tenants.manifests, file), manifestsText(objects));
  }

  withdraw(file: string): void {
    rmSync(join(this.tenants.manifests, file), { force: true });
  }
}
