/** A lab whose pods are those of virtual machines and of who talks to them: declared, plugged in, and looked at in the databases of nodes. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemons } from '../../../src/lab/daemons.ts';
import { runInside } from '../../../src/lab/exec.ts';
import { nodeNames } from '../../../src/lab/paths.ts';
import { attachedPods } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { ownFolder } from '../run/left-behind.ts';
import type { Launcher } from './guests.ts';
import { testLab, type TestLab } from './lab.ts';
import { manifestsText } from './network-spaces.ts';
import { Tenants } from './tenants.ts';

/** A pod's end of a network. */
export interface MachineEnd extends Launcher {
  readonly addresses: readonly string[];
  /** The first one, without a prefix length. */
  readonly address: string;
}

export interface MachineLabOptions {
  readonly name: string;
  readonly nodes: number;
  /** What is there all the time. */
  readonly objects: readonly object[];
  /** The network of which `end` tells: `<namespace>/<name>` of its NetworkAttachmentDefinition. */
  readonly nad: string;
  /** More arguments of the daemons. */
  readonly daemonArguments?: readonly string[];
}

export class MachineLab implements AsyncDisposable {
  readonly tenants: Tenants;
  readonly #lab: TestLab;
  readonly #folder: string;
  readonly #options: MachineLabOptions;

  private constructor(lab: TestLab, folder: string, options: MachineLabOptions) {
    const { daemonArguments = [] } = options;
    this.#lab = lab;
    this.#folder = folder;
    this.#options = options;
    this.tenants = new Tenants(lab.record, { folder, daemonArguments });
  }

  static async start(options: MachineLabOptions): Promise<MachineLab> {
    const { name, nodes, objects } = options;
    const folder = ownFolder(`heddle-${name}`);
    writeFileSync(join(folder, 'objects.yaml'), manifestsText(objects));
    const lab = await testLab(name, { nodes, families: 'dual' });
    const started = new MachineLab(lab, folder, options);
    await started.tenants.start();
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true });
    await this.#lab[Symbol.asyncDispose]();
  }

  get record(): LabRecord {
    return this.#lab.record;
  }

  /** Changes objects in place: nobody waits for what follows from it. */
  declare(file: string, ...objects: readonly object[]): void {
    writeFileSync(join(this.tenants.manifests, `${file}.yaml`), manifestsText(objects));
  }

  withdraw(...files: readonly string[]): void {
    for (const file of files) rmSync(join(this.tenants.manifests, `${file}.yaml`), { force: true });
  }

  async startDaemons(): Promise<void> {
    await startDaemons(this.record, this.#options.daemonArguments);
  }

  /** Where a pod of the network's namespace is plugged in. */
  end(pod: string): MachineEnd {
    const { nad } = this.#options;
    const [space = ''] = nad.split('/');
    const found = attachedPods(this.record).find(({ name }) => name === `${space}/${pod}`);
    const link = found?.interfaces.find(({ nadKey }) => nadKey === nad);
    if (found === undefined || link === undefined)
      throw new Error(`${pod} is not attached to ${nad}`);
    const { device, mac, addresses } = link;
    const address = addresses[0]?.split('/')[0] ?? '';
    return { namespace: found.namespace, device, mac, addresses, address };
  }

  /** `enabled` of the pods' ports on the network in the database of a node, for those that it knows: `[]` where it is not set. */
  async enabled(node: string, ...pods: readonly string[]): Promise<Record<string, string>> {
    const [space = '', network = ''] = this.#options.nad.split('/');
    const found: Record<string, string> = {};
    for (const pod of pods) {
      const port = `${space}.${network}_${space}_${pod}`;
      const argv = ['on', node, 'ovn-nbctl', '--if-exists', 'get', 'Logical_Switch_Port', port];
      const { stdout } = await runInside(this.record, [...argv, 'enabled']);
      if (stdout.trim() !== '') found[pod] = stdout.trim();
    }
    return found;
  }

  /** Nodes that know a port of the pod. */
  async knowing(pod: string): Promise<string[]> {
    const nodes: string[] = [];
    for (const node of nodeNames(this.record.nodes))
      if (Object.hasOwn(await this.enabled(node, pod), pod)) nodes.push(node);
    return nodes;
  }
}
