/** A lab of three nodes with pods on secondary networks: what they have there, and who answers whom. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { probe, type Probe } from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { settingsFile } from '../../../src/lab/objects.ts';
import { serveOutward } from '../../../src/lab/outward.ts';
import { attachedPods, SERVER_PORT } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { heddle } from '../run/heddle.ts';
import { ownFolder } from '../run/left-behind.ts';
import { until } from '../run/until.ts';
import { testLab, type TestLab } from './lab.ts';
import { manifestsText } from './network-spaces.ts';
import { Tenants } from './tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
export const SOON = { timeout: 60_000, interval: 300 };
/** What leaves node n1 has these addresses. */
export const NODE = ['172.18.0.11', 'fd00:172:18::11'] as const;

/** `networks`: annotation `k8s.v1.cni.cncf.io/networks`. */
export function secondaryPod(key: string, nodeName: string, networks: unknown): object {
  const [namespace, name] = key.split('/');
  const text = typeof networks === 'string' ? networks : JSON.stringify(networks);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, annotations: { 'k8s.v1.cni.cncf.io/networks': text } },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
  };
}

/** A flat network of a namespace, `<namespace>/<name>`. */
export function flatSecondary(key: string, spec: object): object {
  const [namespace, name] = key.split('/');
  return {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'OVNSecondaryNetwork',
    metadata: { namespace, name },
    spec,
  };
}

interface End {
  readonly device: string;
  readonly mac: string;
  /** The first one; empty for a pod without. */
  readonly address: string;
  readonly addresses: readonly string[];
}

export interface SecondaryLabOptions {
  readonly name: string;
  /** Manifests by the names of their files. */
  readonly files: Readonly<Record<string, readonly object[]>>;
  readonly daemonArguments: readonly string[];
  /** Of each pod: how many networks it has besides the default one, sorted. */
  readonly networksOfPods: readonly number[];
}

export class SecondaryLab implements AsyncDisposable {
  readonly tenants: Tenants;
  readonly #lab: TestLab;
  readonly #folder: string;

  private constructor(lab: TestLab, folder: string, tenants: Tenants) {
    this.#lab = lab;
    this.#folder = folder;
    this.tenants = tenants;
  }

  static async start(options: SecondaryLabOptions): Promise<SecondaryLab> {
    const folder = ownFolder(`heddle-${options.name}`);
    for (const [file, objects] of Object.entries(options.files))
      writeFileSync(join(folder, file), manifestsText(objects));
    const lab = await testLab(options.name, { families: 'dual' });
    const { daemonArguments } = options;
    const tenants = new Tenants(lab.record, { folder, daemonArguments });
    await tenants.start();
    await serveOutward(lab.record);
    // No node tells of networks of pods that are on their way: a pod's come one after the other.
    await until(
      'pods to have the networks that they ask for',
      async () => {
        await tenants.settle();
        const attached = attachedPods(lab.record).map(({ interfaces }) => interfaces.length - 1);
        return attached.toSorted((a, b) => a - b).join(' ') === options.networksOfPods.join(' ');
      },
      SOON.timeout,
    );
    return new SecondaryLab(lab, folder, tenants);
  }

  get record(): LabRecord {
    return this.#lab.record;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true });
    await this.#lab[Symbol.asyncDispose]();
  }

  declare(file: string, ...objects: readonly object[]): void {
    writeFileSync(join(this.tenants.manifests, file), manifestsText(objects));
  }

  withdraw(file: string): void {
    rmSync(join(this.tenants.manifests, file), { force: true });
  }

  inPod(pod: string, line: string): Promise<string> {
    return outputInside(this.record, ['pod', pod, ...line.split(' ')]);
  }

  /** A pod's end of a network: of `alpha/mesh`, or of `default`, for `alpha/one`. */
  end(pod: string, nad: string): End {
    const found = attachedPods(this.record)
      .find(({ name }) => name === pod)
      ?.interfaces.find(({ nadKey }) => nadKey === nad);
    if (found === undefined) throw new Error(`${pod} has no interface on ${nad}`);
    const addresses = found.addresses.map((address) => address.split('/')[0] ?? '');
    return { ...found, addresses, address: addresses[0] ?? '' };
  }

  /** Network namespace of a pod; of `ext` and of nodes the name itself. */
  networkNamespace(pod: string): string {
    return attachedPods(this.record).find(({ name }) => name === pod)?.namespace ?? pod;
  }

  /** Who answers: `alpha/two` or `nobody`. */
  async answersTo(probes: readonly Probe[]): Promise<string[]> {
    return (await probe(this.record, probes, 3)).map(({ answer }) => answer?.server ?? 'nobody');
  }

  /** Who answers at an address, asked from a pod or from the outside host `ext`. */
  answers(...ways: readonly (readonly [string, string])[]): Promise<string[]> {
    return this.answersTo(
      ways.map(([from, to]) => ({ from: this.networkNamespace(from), to, port: SERVER_PORT })),
    );
  }

  /** What `heddle status` finds wrong: `Pod alpha/copy: …`. */
  async problems(): Promise<string[]> {
    const { stdout } = await heddle('status', '--config', settingsFile(this.record.name));
    return stdout.split('\n');
  }
}
