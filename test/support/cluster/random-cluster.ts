/**
 * Random histories of a small cluster in which objects get in each other's way, with processes that are killed at any write. At every look: what
 * a process decided is what a new one decides, nobody blames what is not there, nothing is given twice, and what is deleted leaves nothing.
 */
import { expect } from 'vitest';
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  ipamClaims,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  ovnSecondaryNetworks,
  pods,
  resourceKinds,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import { podNetworks } from '../../../src/api/annotations/pod-annotations.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../../src/api/objects.ts';
import type { ClusterUserDefinedNetwork, LabelSelector, Pod } from '../../../src/api/types.ts';
import { StoreError, type Store } from '../../../src/store/store.ts';
import {
  clusterLayer3,
  connect,
  describeConditions,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  node,
  pod,
  PRIMARY,
  rawNad,
} from './cluster.ts';
import { checkNothingTwice, versions } from './cluster-history.ts';
import { startProcess, type ClusterProcess } from './cluster-process.ts';
import { SeededRandom } from '../run/seeded-random.ts';
import { readFileSync } from 'node:fs';
import { parseSchema, type JsonValue } from 'ovsdb-client-ts';
import { textOf } from '../ovsdb/database-text.ts';
import { MemoryDatabase } from '../ovsdb/memory-database.ts';
import { NORTHBOUND_SCHEMA } from '../ovsdb/ovsdb-server.ts';
import { strayRows } from './zone-of-process.ts';

/** Steps of one history. */
export const RANDOM_STEPS = 60;

/** Milliseconds for one history on a busy machine. */
const LIMIT = 180_000;

const USER = { fieldManager: 'user' };
/** Nodes whose pods get addresses; `n3` comes and goes. */
const NODES = ['n1', 'n2', 'n3'];
const SPACES = ['a', 'b', 'c', 'plain'];
const TEAMS = ['x', 'y', null];

const byTeam = (team: string): LabelSelector => ({ matchLabels: { team } });

const clusterLayer2 = (
  name: string,
  namespaceSelector: LabelSelector,
  subnets: readonly string[],
  role: 'Primary' | 'Secondary',
): ClusterUserDefinedNetwork => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name },
  spec: { namespaceSelector, network: { topology: 'Layer2', layer2: { role, subnets } } },
});

const handWritten = (key: string, config: object): KubeObject =>
  rawNad(key, {
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    netAttachDefName: key,
    ...config,
  });

const external = (key: string, subnet: string): KubeObject => {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'OVNSecondaryNetwork',
    metadata: { namespace: namespaceName, name },
    spec: { subnet, hasExternalConnectivity: true },
  };
};

const claim = (key: string, network: string): KubeObject => {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { namespace: namespaceName, name },
    spec: { network, interface: 'net1' },
  };
};

const persistent = (key: string, subnets: string): KubeObject => {
  const udn = layer2(key, subnets, 'Secondary');
  return {
    ...udn,
    spec: {
      ...udn.spec,
      layer2: { role: 'Secondary', subnets: [subnets], ipam: { lifecycle: 'Persistent' } },
    },
  };
};

/** What may be there: networks that overlap, share namespaces, ask for one name or one range. */
const NETWORK_OBJECTS: readonly KubeObject[] = [
  clusterLayer3('k1', byTeam('x'), '10.1.0.0/16/24'),
  clusterLayer3('k2', byTeam('x'), '10.2.0.0/16/24'),
  clusterLayer3('k3', byTeam('x'), '10.1.128.0/17/24'),
  clusterLayer2('k4', inNamespaces('b', 'c'), ['10.4.0.0/28'], 'Primary'),
  clusterLayer2('k5', byTeam('y'), ['10.5.0.0/28'], 'Secondary'),
  layer3('a/one', '10.11.0.0/16/24'),
  layer3('a/two', '10.12.0.0/16/24'),
  layer3('a/three', '10.11.0.0/17/24'),
  layer2('b/net', '10.13.0.0/28'),
  layer3('c/more', '10.14.0.0/16/24', 'Secondary'),
  persistent('b/kept', '10.15.0.0/28'),
  handWritten('a/hand', {
    name: 'hand',
    topology: 'layer3',
    role: 'primary',
    subnets: '10.16.0.0/16/24',
  }),
  handWritten('b/wide', { name: 'wide', topology: 'layer3', subnets: '10.17.0.0/16/24' }),
  handWritten('c/wide', { name: 'wide', topology: 'layer3', subnets: '10.18.0.0/16/24' }),
  handWritten('b/like', { name: 'x-y', topology: 'layer2', subnets: '10.19.0.0/28' }),
  handWritten('c/like', { name: 'x.y', topology: 'layer2', subnets: '10.20.0.0/28' }),
  external('b/outside', '172.20.0.0/16'),
  external('c/outside', '172.20.128.0/17'),
  connect('all', ['a', 'b', 'c'], '192.168.0.0/16/24'),
  connect('some', ['a', 'c'], '192.168.128.0/17/24'),
  connect('ranges', ['b', 'c'], '192.169.0.0/16/24'),
];

const closed = (key: string, spec: object): KubeObject & { readonly spec: object } => {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { namespace: namespaceName, name },
    spec: { podSelector: {}, policyTypes: ['Ingress'], ...spec },
  };
};

/** What closes pods, where there are rows. */
const POLICIES: readonly KubeObject[] = [
  closed('a/closed', {}),
  closed('b/from-x', { ingress: [{ from: [{ namespaceSelector: byTeam('x') }] }] }),
  closed('c/from-own', { ingress: [{ from: [{ podSelector: {} }] }] }),
  closed('plain/closed', {}),
];

const SELECTORS: readonly LabelSelector[] = [
  byTeam('x'),
  byTeam('y'),
  inNamespaces('a', 'b'),
  inNamespaces('b', 'c'),
];

/** Secondary networks that pods ask for. */
const ASKED = ['more', 'kept', 'wide', 'like', 'k5', 'outside'];

const kindOf = ({ kind: name }: KubeObject): ResourceKind => {
  const kind = resourceKinds.find((one) => one.kind === name);
  if (kind === undefined) throw new Error(`unknown kind ${name}`);
  return kind;
};

/** Kinds whose objects say what was decided of them. */
const JUDGED: readonly ResourceKind[] = [
  userDefinedNetworks,
  clusterUserDefinedNetworks,
  ovnSecondaryNetworks,
  clusterNetworkConnects,
  ipamClaims,
];

/** A verdict: of which object, and what it says. */
type Verdict = readonly [object: string, text: string];

async function verdicts(store: Store, process: ClusterProcess): Promise<readonly Verdict[]> {
  const told: Verdict[] = [];
  for (const kind of JUDGED)
    for (const { metadata, status } of await store.list(kind)) {
      const { conditions = [] } = (status ?? {}) as {
        readonly conditions?: Parameters<typeof describeConditions>[0];
      };
      for (const line of describeConditions(conditions))
        told.push([`${kind.kind} ${objectKey(metadata)}`, line]);
    }
  for (const problem of process.problems()) {
    const [object = '', ...text] = problem.split(': ');
    told.push([object, text.join(': ')]);
  }
  return told;
}

/** Names in a text: `namespace/name` of an object, and networks. */
const NAMES =
  /(?<![\w./-])(?:[abc]|plain)\/[a-z][a-z0-9-]*|\b(?:[abc]_\w+|cluster_udn_\w+)|'(?:all|some|ranges)'/g;

async function existing(store: Store): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const kind of resourceKinds)
    if (kind.kind !== 'Event' && kind.kind !== 'Lease')
      for (const { metadata } of await store.list(kind)) names.add(objectKey(metadata));
  for (const { metadata } of await store.list(clusterNetworkConnects))
    names.add(`'${metadata.name}'`);
  for (const { metadata } of await store.list(networkAttachmentDefinitions))
    names.add(metadata.annotations?.['k8s.ovn.org/network-name'] ?? '');
  return names;
}

/** Verdicts that name what is not there. */
async function unfounded(store: Store, told: readonly Verdict[]): Promise<readonly string[]> {
  const names = await existing(store);
  return told.flatMap(([object, text]) => {
    // Who asks for something that is not there is told just that.
    if (/there is no |is no primary network|waits for/.test(text)) return [];
    const own = object.slice(object.indexOf(' ') + 1);
    const missing = [...text.matchAll(NAMES)]
      .map(([name]) => name)
      .filter((name) => !names.has(name) && name !== own && name !== own.replace('/', '_'))
      .filter((name) => name !== `cluster_udn_${own}`);
    return missing.length === 0 ? [] : [`${object} blames ${missing.join()}: ${text}`];
  });
}

/** Pods that carry networks of which there is no NAD in the cluster. */
async function unheld(store: Store): Promise<readonly string[]> {
  const nads = new Set(
    (await store.list(networkAttachmentDefinitions)).map(({ metadata }) => objectKey(metadata)),
  );
  // A NAD that somebody wrote by hand goes whoever uses it.
  const byHand = new Set(['a/hand', 'b/wide', 'c/wide', 'b/like', 'c/like']);
  return (await store.list(pods)).flatMap((one) =>
    [...(podNetworks(one).value?.keys() ?? [])]
      .filter((key) => key !== 'default' && !nads.has(key) && !byHand.has(key))
      .map((key) => `${objectKey(one.metadata)} carries ${key}`),
  );
}

/** Northbound databases by node. */
export type Zones = ReadonlyMap<string, MemoryDatabase>;

const NORTHBOUND = parseSchema(JSON.parse(readFileSync(NORTHBOUND_SCHEMA, 'utf8')) as JsonValue);

export const emptyZones = (names: readonly string[]): Zones =>
  new Map(names.map((name) => [name, new MemoryDatabase(NORTHBOUND)]));

/** All rows as text, without their UUIDs. */
const rowsOf = (zones: Zones): readonly string[] =>
  [...zones].flatMap(([name, database]) =>
    [...NORTHBOUND.tables.keys()]
      .flatMap((table) => database.rows(table).map((row) => textOf(database, row, () => false)))
      .map((text) => `${name}: ${text}`)
      .toSorted(),
  );

/** What rows of objects that are there are marked with. */
async function marks(store: Store): Promise<ReadonlySet<string>> {
  const lists = await Promise.all(resourceKinds.map((kind) => store.list(kind)));
  return new Set(lists.flat().map(({ kind, metadata }) => `${kind} ${objectKey(metadata)}`));
}

/** A node as its daemon annotates it. */
function ofZone(name: string): KubeObject {
  const address = `192.0.2.${name.slice(1)}`;
  return node(name, {
    'k8s.ovn.org/node-chassis-id': `b1f96182-2bdd-42b6-88f9-9a1fc1c85e0${name.slice(1)}`,
    'k8s.ovn.org/node-encap-ips': JSON.stringify([address]),
    'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: `${address}/24` }),
  });
}

class RandomCluster {
  readonly #random: SeededRandom;
  readonly #store: Store;
  readonly log: string[] = [];
  #process: ClusterProcess | undefined;
  /** True while the process is one that is killed at one of its writes. */
  #isDoomed = false;

  /** Northbound databases of nodes whose zones are kept, too; they outlive every process. */
  readonly #zones: Zones;

  constructor(store: Store, random: SeededRandom, zones: Zones) {
    this.#store = store;
    this.#random = random;
    this.#zones = zones;
  }

  /** Plays `steps` steps and looks in between; at the end all is deleted. Rejects with what is wrong. */
  async play(steps: number): Promise<void> {
    try {
      for (const name of ['n1', 'n2'])
        await this.#try(`create ${name}`, this.#create(ofZone(name)));
      for (const name of SPACES)
        await this.#try(
          `create namespace ${name}`,
          this.#create(namespace(name, name === 'plain' ? {} : PRIMARY)),
        );
      this.#start();
      for (let step = 0; step < steps; step += 1) await this.#step();
      await this.#look();
      await this.#endWithNothing();
    } finally {
      await this.#process?.[Symbol.asyncDispose]();
    }
  }

  #start(): void {
    const random = this.#random;
    // Most live on; the others are killed at one of their writes.
    this.#isDoomed = random.is(0.5);
    const life = this.#isDoomed ? { writes: 1 + random.below(40), isLastDone: random.is(0.5) } : {};
    this.log.push(`start ${JSON.stringify(life)}`);
    this.#process = startProcess(this.#store, NODES, life, this.#zones);
  }

  async #kill(): Promise<void> {
    this.log.push('kill');
    await this.#process?.[Symbol.asyncDispose]();
    this.#process = undefined;
    this.#isDoomed = false;
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const what = random.below(40);
    if (what < 8) return this.#networkComes();
    if (what < 13) return this.#networkGoes();
    if (what < 16) return this.#labelChanges();
    if (what < 18) return this.#selectorChanges();
    if (what < 19) return this.#nadChanges();
    if (what < 26) return this.#podComes();
    if (what < 31) return this.#podGoes();
    if (what < 32) return this.#nodeChanges();
    if (what < 33) return this.#claimChanges();
    if (what < 35) {
      if (this.#process === undefined) this.#start();
      this.log.push('settle');
      return await this.#process?.settled();
    }
    if (what < 37) {
      if (this.#process === undefined) this.#start();
      else await this.#kill();
      return;
    }
    if (what < 38) return this.#look();
    // Some of what was done is still under way when the next step comes.
    for (let turns = random.below(30); turns > 0; turns -= 1)
      await new Promise((resolve) => setImmediate(resolve));
  }

  /** What a user does; what the API server refuses, or comes too late, is not done. */
  async #try(says: string, work: Promise<unknown>): Promise<void> {
    try {
      await work;
      this.log.push(says);
    } catch (error) {
      if (
        !(error instanceof StoreError) ||
        !['invalid', 'already-exists', 'not-found', 'conflict'].includes(error.code)
      )
        throw error;
      this.log.push(`${says}: ${error.code}`);
    }
  }

  #create(object: KubeObject): Promise<unknown> {
    return this.#store.create(kindOf(object), object, USER);
  }

  get #objects(): readonly KubeObject[] {
    return this.#zones.size === 0 ? NETWORK_OBJECTS : [...NETWORK_OBJECTS, ...POLICIES];
  }

  async #networkComes(): Promise<void> {
    const object = this.#random.pick(this.#objects);
    await this.#try(`create ${object.kind} ${objectKey(object.metadata)}`, this.#create(object));
  }

  async #networkGoes(): Promise<void> {
    const object = this.#random.pick(this.#objects);
    const key = objectKey(object.metadata);
    await this.#try(`delete ${object.kind} ${key}`, this.#store.delete(kindOf(object), key));
  }

  async #labelChanges(): Promise<void> {
    const [name, team] = [this.#random.pick(SPACES), this.#random.pick(TEAMS)];
    const change = { metadata: { labels: { team } } };
    await this.#try(`team of ${name}: ${team}`, this.#store.patch(namespaces, name, change, USER));
  }

  async #selectorChanges(): Promise<void> {
    const name = this.#random.pick(['k1', 'k2', 'k3', 'k4', 'k5']);
    const namespaceSelector = {
      matchLabels: null,
      matchExpressions: null,
      ...this.#random.pick(SELECTORS),
    };
    await this.#try(
      `selector of ${name}: ${JSON.stringify(namespaceSelector)}`,
      this.#store.patch(clusterUserDefinedNetworks, name, { spec: { namespaceSelector } }, USER),
    );
  }

  /** Somebody edits a NAD that is written by hand. */
  async #nadChanges(): Promise<void> {
    const random = this.#random;
    const key = random.pick(['b/wide', 'c/wide']);
    const subnets = random.pick(['10.17.0.0/16/24', '10.18.0.0/16/24']);
    const spec = (
      handWritten(key, { name: 'wide', topology: 'layer3', subnets }) as unknown as {
        readonly spec: object;
      }
    ).spec;
    await this.#try(
      `NAD ${key}: ${subnets}`,
      this.#store.patch(networkAttachmentDefinitions, key, { spec }, USER),
    );
  }

  async #podComes(): Promise<void> {
    const random = this.#random;
    const key = `${random.pick(SPACES)}/p${random.below(3)}`;
    const asked = random.is(0.3) ? random.pick(ASKED) : undefined;
    const requested = random.is(0.2) ? random.pick(['k1', 'k2', 'one', 'two']) : undefined;
    const annotations: Record<string, string> = {
      ...(asked === undefined
        ? {}
        : {
            'k8s.v1.cni.cncf.io/networks': JSON.stringify([
              asked === 'kept' && random.is(0.5)
                ? { name: asked, 'ipam-claim-reference': 'vm' }
                : { name: asked },
            ]),
          }),
      ...(requested === undefined ? {} : { 'k8s.ovn.org/requested-primary-udn': requested }),
    };
    const object: Pod = pod(key, random.pick(NODES), annotations);
    await this.#try(
      `create Pod ${key} on ${object.spec.nodeName ?? ''} ${JSON.stringify(annotations)}`,
      this.#create(object),
    );
  }

  async #podGoes(): Promise<void> {
    const key = `${this.#random.pick(SPACES)}/p${this.#random.below(3)}`;
    if (this.#random.is(0.8)) {
      await this.#try(`delete Pod ${key}`, this.#store.delete(pods, key));
      return;
    }
    await this.#try(
      `Pod ${key} has ended`,
      this.#store.patchStatus(pods, key, { status: { phase: 'Succeeded' } }, USER),
    );
  }

  async #nodeChanges(): Promise<void> {
    if (this.#random.is(0.5)) {
      await this.#try('create Node n3', this.#create(ofZone('n3')));
      return;
    }
    if (this.#random.is(0.5)) {
      await this.#try('delete Node n3', this.#store.delete(nodes, 'n3'));
      return;
    }
    const cidrs = this.#random.pick(['["172.20.0.2/16"]', '["10.11.0.5/24"]', '["172.18.0.2/16"]']);
    const change = { metadata: { annotations: { 'k8s.ovn.org/host-cidrs': cidrs } } };
    await this.#try(`Node n1 is in ${cidrs}`, this.#store.patchStatus(nodes, 'n1', change, USER));
  }

  async #claimChanges(): Promise<void> {
    if (this.#random.is(0.6))
      await this.#try('create IPAMClaim b/vm', this.#create(claim('b/vm', 'b_kept')));
    else await this.#try('delete IPAMClaim b/vm', this.#store.delete(ipamClaims, 'b/vm'));
  }

  /** The process that lives settles, or a new one does; then a new one finds nothing to do. */
  async #look(): Promise<void> {
    this.log.push('look');
    if (this.#isDoomed) await this.#kill();
    if (this.#process === undefined)
      this.#process = startProcess(this.#store, NODES, {}, this.#zones);
    await this.#process.settled();
    const store = this.#store;
    await checkNothingTwice(store);
    const told = await verdicts(store, this.#process);
    expect(await unfounded(store, told)).toEqual([]);
    expect(await unheld(store)).toEqual([]);
    const before = await versions(store);
    const contents = await texts(store);
    const rows = rowsOf(this.#zones);
    const existing = await marks(store);
    for (const zone of this.#zones.values()) expect(strayRows(zone, existing)).toEqual([]);
    await this.#kill();
    this.#process = startProcess(store, NODES, {}, this.#zones);
    await this.#process.settled();
    expect(await verdicts(store, this.#process)).toEqual(told);
    if ((await versions(store)).join() !== before.join())
      expect(await texts(store)).toEqual(contents);
    expect(rowsOf(this.#zones)).toEqual(rows);
    if (this.#zones.size === 0) return;
    // What was changed step by step is what databases have that begin empty.
    const fresh = emptyZones([...this.#zones.keys()]);
    await this.#kill();
    this.#process = startProcess(store, NODES, {}, fresh);
    await this.#process.settled();
    expect(rowsOf(this.#zones)).toEqual(rowsOf(fresh));
    await this.#kill();
  }

  async #endWithNothing(): Promise<void> {
    this.log.push('all is deleted');
    const claims = (await this.#store.list(ipamClaims)).map(({ metadata }) => objectKey(metadata));
    for (const key of claims) await this.#try(`delete ${key}`, this.#store.delete(ipamClaims, key));
    for (const object of this.#objects) {
      const key = objectKey(object.metadata);
      await this.#try(`delete ${key}`, this.#store.delete(kindOf(object), key));
    }
    for (const { metadata } of await this.#store.list(pods))
      await this.#try('delete Pod', this.#store.delete(pods, objectKey(metadata)));
    if (this.#isDoomed) await this.#kill();
    if (this.#process === undefined)
      this.#process = startProcess(this.#store, NODES, {}, this.#zones);
    await this.#process.settled();
    expect(await texts(this.#store, [...JUDGED, networkAttachmentDefinitions, pods])).toEqual([]);
    expect(this.#process.problems()).toEqual([]);
    for (const one of await this.#store.list(nodes)) {
      const subnets = one.metadata.annotations?.['k8s.ovn.org/node-subnets'] ?? '{}';
      expect(Object.keys(JSON.parse(subnets) as object)).toEqual(['default']);
    }
  }
}

/** Objects as text, without what changes with every write. */
async function texts(
  store: Store,
  kinds: readonly ResourceKind[] = resourceKinds,
): Promise<readonly string[]> {
  const lists = await Promise.all(
    kinds
      .filter(({ kind }) => kind !== 'Event' && kind !== 'Lease')
      .map((kind) => store.list(kind)),
  );
  return lists
    .flat()
    .map(({ metadata: { resourceVersion: _version, ...metadata }, ...object }) =>
      JSON.stringify({ ...object, metadata }),
    )
    .toSorted();
}

/** A history of that seed; rejects with its steps. */
export async function runRandomCluster(
  store: Store,
  seed: number,
  steps: number,
  zones: Zones = new Map(),
): Promise<void> {
  const cluster = new RandomCluster(store, new SeededRandom(seed), zones);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('it does not come to its end')), LIMIT);
  try {
    await Promise.race([cluster.play(steps), late.promise]);
  } catch (error) {
    throw new Error(
      `seed ${seed} (HEDDLE_SEED=${seed} repeats it), after:\n${cluster.log.join('\n')}\n${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
  }
}
