import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { namespaces, nodes, pods, userDefinedNetworks } from '../../../src/api/kinds.ts';
import { networkAttachmentDefinitions as nads } from '../../../src/api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import { formatProblem } from '../../../src/store/manifests/manifest-rules.ts';
import {
  ManifestStore,
  type ManifestStoreOptions,
} from '../../../src/store/manifests/manifest-store.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { EVENTS } from '../../../src/store/object-event.ts';
import { objectRules } from '../../../src/store/object-rules.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const WRITER = { fieldManager: 'test' };
const PROTECTION = 'k8s.ovn.org/user-defined-network-protection';

const network = (name: string, subnet = '10.20.0.0/16', metadata = ''): string => `
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata:
  name: ${name}
  namespace: tenant-a
${metadata}spec:
  topology: Layer3
  layer3:
    role: Primary
    subnets:
    - cidr: ${subnet}
`;

describe('manifests store', () => {
  let folder: string;
  let manifests: string;
  let state: string;
  const open: ManifestStore[] = [];

  beforeEach(async () => {
    folder = ownFolder('heddle-manifests');
    manifests = join(folder, 'manifests');
    state = join(folder, 'state');
    await mkdir(manifests);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((store) => store.close()));
    await rm(folder, { recursive: true });
  });

  async function start(options: Partial<ManifestStoreOptions> = {}): Promise<ManifestStore> {
    const timing = { debounce: 5, removalGrace: 60, poll: 60_000 };
    const store = await ManifestStore.open({
      manifests,
      state,
      rules: objectRules,
      timing,
      ...options,
    });
    open.push(store);
    return store;
  }
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(manifests, file)), { recursive: true });
    await writeFile(join(manifests, file), text);
  };
  const keys = async (store: ManifestStore, kind: ResourceKind): Promise<string[]> =>
    (await store.list(kind))
      .map(({ metadata: { namespace, name } }) =>
        namespace === undefined ? name : `${namespace}/${name}`,
      )
      .sort();
  const problems = (store: ManifestStore): string[] =>
    store.problems.map((problem) => formatProblem(problem).replaceAll(`${folder}/`, ''));

  /** Everything that a watch tells from now on, as `type name`. */
  function follow(store: ManifestStore, kind: ResourceKind): string[] {
    const seen: string[] = [];
    const stop = new AbortController();
    void store.watch(
      kind,
      (event) =>
        seen.push('object' in event ? `${event.type} ${event.object.metadata.name}` : event.type),
      stop.signal,
    );
    return seen;
  }
  const nad = (name: string, owner: KubeObject): KubeObject => ({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: {
      name,
      namespace: 'tenant-a',
      ownerReferences: [
        {
          apiVersion: owner.apiVersion,
          kind: owner.kind,
          name: owner.metadata.name,
          uid: owner.metadata.uid ?? '',
        },
      ],
    },
    spec: { config: '{}' },
  });

  test('a file is looked through once while it says the same, however often it is read to be sure', async () => {
    const looked: string[] = [];
    const rules: typeof objectRules = {
      ...objectRules,
      read(text, file) {
        looked.push(file.slice(manifests.length + 1));
        return objectRules.read(text, file);
      },
    };
    await write('red.yaml', network('red'));
    await write('green.yaml', network('green'));
    const store = await start({ rules });
    await write('green.yaml', network('green'));
    await store.refresh();
    expect(looked).toEqual(['green.yaml', 'red.yaml']);
    await write('green.yaml', network('green', '10.30.0.0/16'));
    await store.refresh();
    expect(looked).toEqual(['green.yaml', 'red.yaml', 'green.yaml']);
    expect(await keys(store, userDefinedNetworks)).toEqual(['tenant-a/green', 'tenant-a/red']);
  });

  test('reads every YAML and JSON file below the directory, several objects a file, and lists', async () => {
    await write('a.yaml', `${network('blue')}---\n# nothing here\n---${network('red')}`);
    await write('deep/er/b.yml', network('green', '10.30.0.0/16'));
    await write(
      'deep/c.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant-a' } },
          { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } },
        ],
      }),
    );
    await write('README.md', 'not a manifest');
    await write('.hidden.yaml', network('hidden'));
    await write('a.yaml~', network('backup'));
    const store = await start();
    expect(await keys(store, userDefinedNetworks)).toEqual([
      'tenant-a/blue',
      'tenant-a/green',
      'tenant-a/red',
    ]);
    expect(await keys(store, nodes)).toEqual(['node1']);
    const [namespace] = await store.list(namespaces);
    expect(namespace?.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': 'tenant-a' });
    expect(problems(store)).toEqual([]);
  });

  test('what is wrong with one file or object is said, and harms nothing else', async () => {
    await write('broken.yaml', 'apiVersion: v1\nkind: Node\n  metadata: [');
    await write('good.yaml', network('blue'));
    await write(
      'invalid.yaml',
      `${network('red')}---${network('bad', '10.20.0.0/99')}---${network('green', '10.30.0.0/16')}`,
    );
    const deployment = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: x }\n';
    await write('unknown.yaml', `${deployment}---\n${deployment}`);
    await write('unknown2.yaml', deployment);
    const store = await start();
    expect(await keys(store, userDefinedNetworks)).toEqual([
      'tenant-a/blue',
      'tenant-a/green',
      'tenant-a/red',
    ]);
    const text = problems(store);
    expect(text).toHaveLength(3);
    expect(text[0]).toMatch(/^manifests\/broken\.yaml:\d+: not valid YAML/);
    expect(text[1]).toMatch(
      /^manifests\/invalid\.yaml:\d+: UserDefinedNetwork tenant-a\/bad: spec\.layer3\.subnets\[0\].*10\.20\.0\.0\/99.*CIDR is invalid/,
    );
    expect(text[2]).toBe(
      'manifests/unknown.yaml:1: Deployment (apps/v1): this release does not know this kind; objects of it are skipped',
    );
  });

  test("the user's files are never touched; what controllers write is a readable file each", async () => {
    await write('blue.yaml', network('blue'));
    const store = await start();
    const patch = { metadata: { annotations: { 'k8s.ovn.org/network-id': '3' } } };
    await store.patch(userDefinedNetworks, 'tenant-a/blue', patch, WRITER);
    const status = { status: { conditions: [] } };
    await store.patchStatus(userDefinedNetworks, 'tenant-a/blue', status, WRITER);
    expect(await readFile(join(manifests, 'blue.yaml'), 'utf8')).toBe(network('blue'));
    expect(await readdir(manifests)).toEqual(['blue.yaml']);
    const file = join(state, 'objects/userdefinednetworks.k8s.ovn.org/tenant-a/blue.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
      kind: 'UserDefinedNetwork',
      file: 'blue.yaml',
      written: {
        metadata: { annotations: { 'k8s.ovn.org/network-id': '3' } },
        status: { conditions: [] },
      },
    });
  });

  test('uid, version and creation time are the same in every process and after a restart', async () => {
    await write('blue.yaml', network('blue'));
    const first = await start();
    const blue = await first.get(userDefinedNetworks, 'tenant-a/blue');
    const second = await start();
    expect(await second.get(userDefinedNetworks, 'tenant-a/blue')).toEqual(blue);
    await first.close();
    const third = await start();
    expect(await third.get(userDefinedNetworks, 'tenant-a/blue')).toEqual(blue);
    const elsewhere = await start({ state: join(folder, 'other-state') });
    const again = await elsewhere.get(userDefinedNetworks, 'tenant-a/blue');
    expect(again?.metadata.uid).toBe(blue?.metadata.uid);
  });

  test('which of two objects is older is known also of those of one second', async () => {
    let now = Date.parse('2026-01-01T00:00:00.100Z');
    const store = await start({ clock: { ...systemClock, now: () => now } });
    const ages: (string | undefined)[] = [];
    for (const name of ['red', 'blue']) {
      await write(`${name}.yaml`, network(name));
      await store.refresh();
      const found = await store.get(userDefinedNetworks, `tenant-a/${name}`);
      ages.push(found?.metadata.creationTimestamp);
      now += 100;
    }
    expect(ages).toEqual(['2026-01-01T00:00:00.100Z', '2026-01-01T00:00:00.200Z']);
  });

  test('an edited manifest is applied; what controllers wrote elsewhere in the object stays', async () => {
    const annotated = (annotation: string): string =>
      network('blue', '10.20.0.0/16', `  annotations: { ${annotation} }\n  labels: { a: b }\n`);
    await write('blue.yaml', annotated('mine: one, gone: soon'));
    const store = await start();
    const patch = {
      metadata: { annotations: { id: '3', mine: 'overwritten' }, finalizers: [PROTECTION] },
    };
    await store.patch(userDefinedNetworks, 'tenant-a/blue', patch, WRITER);
    await store.patchStatus(
      userDefinedNetworks,
      'tenant-a/blue',
      { status: { conditions: [] } },
      WRITER,
    );
    const seen = follow(store, userDefinedNetworks);
    await write('blue.yaml', annotated('mine: two').replace('a: b', 'a: c'));
    await expect.poll(() => seen).toEqual(['added blue', 'synced', 'modified blue']);
    const blue = await store.get(userDefinedNetworks, 'tenant-a/blue');
    expect(blue?.metadata).toMatchObject({
      annotations: { mine: 'two', id: '3' },
      labels: { a: 'c' },
      finalizers: [PROTECTION],
      generation: 1,
    });
    expect(blue?.metadata.annotations).not.toHaveProperty('gone');
    expect(blue?.status).toEqual({ conditions: [] });

    const appended = annotated('mine: two').replace(
      '- cidr: 10.20.0.0/16',
      '- cidr: 10.20.0.0/16\n    - cidr: 10.21.0.0/16',
    );
    await write('blue.yaml', appended);
    await expect.poll(() => seen).toHaveLength(4);
    const grown = await store.get(userDefinedNetworks, 'tenant-a/blue');
    expect(grown?.metadata.generation).toBe(2);
  });

  test('an object keeps its last good version while its manifest can not be used, restarts included', async () => {
    await write('blue.yaml', network('blue'));
    await write('red.yaml', network('red'));
    await write('green.yaml', network('green'));
    const store = await start();
    const seen = follow(store, userDefinedNetworks);
    await write('blue.yaml', 'apiVersion: k8s.ovn.org/v1\nkind: {');
    await write('red.yaml', network('red', '10.20.0.0/99'));
    await write('green.yaml', network('green', '10.99.0.0/16')); // removing a subnet is not allowed
    await expect.poll(() => problems(store)).toHaveLength(3);
    expect(problems(store).find((text) => text.includes('green.yaml'))).toMatch(
      /^manifests\/green\.yaml:2: UserDefinedNetwork tenant-a\/green: .*Removing existing subnets is not allowed; the object stays as it was$/,
    );
    await store.close();

    const restarted = await start();
    expect(await keys(restarted, userDefinedNetworks)).toEqual([
      'tenant-a/blue',
      'tenant-a/green',
      'tenant-a/red',
    ]);
    expect(problems(restarted)).toHaveLength(3);
    await write('blue.yaml', network('blue'));
    await write('red.yaml', network('red'));
    await write('green.yaml', network('green'));
    await expect.poll(() => problems(restarted)).toEqual([]);
    expect(seen.filter((line) => line.startsWith('deleted'))).toEqual([]);
  });

  test('removing the manifest removes the object and its state', async () => {
    await write('blue.yaml', network('blue'));
    await write('red.yaml', network('red'));
    const store = await start();
    const seen = follow(store, userDefinedNetworks);
    await rm(join(manifests, 'blue.yaml'));
    await expect.poll(() => seen.at(-1)).toBe('deleted blue');
    const records = join(state, 'objects/userdefinednetworks.k8s.ovn.org/tenant-a');
    expect(await readdir(records)).toEqual(['red.json']);
    await write('blue.yaml', network('blue'));
    await expect.poll(() => seen.at(-1)).toBe('added blue');
  });

  test('a state directory that is gone is one problem in the same words at each try, and written again once it is back', async () => {
    await write('blue.yaml', network('blue'));
    const store = await start();
    const seen = follow(store, userDefinedNetworks);
    await rename(state, `${state}.away`);
    await write('red.yaml', network('red'));
    await expect.poll(() => problems(store).length).toBe(1);
    const told = problems(store);
    expect(told).toEqual([
      "state: state directory state: can't be written: it is not there, or its file system is not mounted; what is programmed goes on, and ids, addresses, statuses and heartbeats are written as soon as it can be",
    ]);
    await write('green.yaml', network('green'));
    await expect(
      store.patchStatus(
        userDefinedNetworks,
        'tenant-a/blue',
        { status: { conditions: [] } },
        WRITER,
      ),
    ).rejects.toThrow("can't be written: it is not there");
    expect(problems(store)).toEqual(told);
    expect(await keys(store, userDefinedNetworks)).toEqual(['tenant-a/blue']);
    expect(seen).toEqual(['added blue', 'synced']);
    await rename(`${state}.away`, state);
    // Nothing notifies of that: it is found by a look at everything, the next of which comes after half a minute at most.
    await expect
      .poll(() => keys(store, userDefinedNetworks), { timeout: 60_000 })
      .toEqual(['tenant-a/blue', 'tenant-a/green', 'tenant-a/red']);
    expect(problems(store)).toEqual([]);
  });

  test('a manifest removed while nothing ran is noticed at the start', async () => {
    await write('blue.yaml', network('blue'));
    await (await start()).close();
    await rm(join(manifests, 'blue.yaml'));
    expect(await keys(await start(), userDefinedNetworks)).toEqual([]);
  });

  test('an object with finalizers waits for them, and comes back if its manifest did', async () => {
    await write('blue.yaml', network('blue'));
    const store = await start();
    const finalizers = { metadata: { finalizers: [PROTECTION] } };
    await store.patch(userDefinedNetworks, 'tenant-a/blue', finalizers, WRITER);
    await rm(join(manifests, 'blue.yaml'));
    const isDying = async (): Promise<boolean> =>
      (await store.get(userDefinedNetworks, 'tenant-a/blue'))?.metadata.deletionTimestamp !==
      undefined;
    await expect.poll(isDying).toBe(true);
    await write('blue.yaml', network('blue', '10.77.0.0/16'));
    await store.refresh();
    expect(await isDying()).toBe(true);
    const seen = follow(store, userDefinedNetworks);
    const none = { metadata: { finalizers: null } };
    await store.patch(userDefinedNetworks, 'tenant-a/blue', none, WRITER);
    await expect.poll(() => seen).toEqual(['added blue', 'synced', 'deleted blue', 'added blue']);
    const blue = await store.get(userDefinedNetworks, 'tenant-a/blue');
    expect(blue?.spec).toMatchObject({ layer3: { subnets: [{ cidr: '10.77.0.0/16' }] } });
    expect(blue?.metadata.finalizers).toBeUndefined();
  });

  test('what an object owned goes with it', async () => {
    await write('blue.yaml', network('blue'));
    await write('red.yaml', network('red'));
    const store = await start();
    for (const name of ['blue', 'red']) {
      const owner = await store.get(userDefinedNetworks, `tenant-a/${name}`);
      if (owner === undefined) expect.unreachable();
      await store.create(nads, nad(name, owner) as never, WRITER);
    }
    await rm(join(manifests, 'blue.yaml'));
    await expect.poll(() => keys(store, nads)).toEqual(['tenant-a/red']);
  });

  test('a manifest with the name of what was made for another object is refused until that is gone', async () => {
    await write('blue.yaml', network('blue'));
    const store = await start();
    const owner = await store.get(userDefinedNetworks, 'tenant-a/blue');
    if (owner === undefined) expect.unreachable();
    await store.create(nads, nad('blue', owner) as never, WRITER);
    const made = await store.get(nads, 'tenant-a/blue');
    const metadata = 'name: blue, namespace: tenant-a, labels: { mine: "yes" }';
    const text = `apiVersion: ${nads.apiVersion}\nkind: ${nads.kind}\nmetadata: { ${metadata} }\n`;
    await write('nad.yaml', text);
    await expect
      .poll(() => problems(store))
      .toEqual([
        'manifests/nad.yaml:1: NetworkAttachmentDefinition tenant-a/blue: is the name of an object that was made for UserDefinedNetwork tenant-a/blue: choose another name for this one; the object stays as it was',
      ]);
    expect(await store.get(nads, 'tenant-a/blue')).toEqual(made);
    await store.delete(nads, 'tenant-a/blue');
    await expect.poll(() => problems(store)).toEqual([]);
    expect((await store.get(nads, 'tenant-a/blue'))?.metadata.labels).toEqual({ mine: 'yes' });
  });

  test('objects from manifests are not collected because their owner is unknown here', async () => {
    const owner = 'apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: abc-1';
    await write(
      'pod.yaml',
      `apiVersion: v1\nkind: Pod\nmetadata:\n  name: web-1\n  ownerReferences: [{ ${owner} }]\nspec: { nodeName: node1 }\n`,
    );
    const store = await start();
    await store.refresh();
    expect(await keys(store, pods)).toEqual(['default/web-1']);
  });

  test('editors that write through another file, and files that move, remove nothing', async () => {
    await write('blue.yaml', network('blue'));
    await write('old/red.yaml', network('red'));
    // Longer than a busy machine takes to write again.
    const store = await start({ timing: { debounce: 5, removalGrace: 2000, poll: 60_000 } });
    const seen = follow(store, userDefinedNetworks);
    // Away, written anew, backup removed.
    await rename(join(manifests, 'blue.yaml'), join(manifests, 'blue.yaml~'));
    await store.refresh();
    await write('blue.yaml', '');
    await store.refresh();
    await write('blue.yaml', network('blue'));
    await rm(join(manifests, 'blue.yaml~'));
    // Written beside and renamed over.
    await write('.blue.yaml.swp', network('blue'));
    await rename(join(manifests, '.blue.yaml.swp'), join(manifests, 'blue.yaml'));
    await rename(join(manifests, 'old'), join(manifests, 'new'));
    const fileOfRed = async (): Promise<unknown> => {
      const file = join(state, 'objects/userdefinednetworks.k8s.ovn.org/tenant-a/red.json');
      return (JSON.parse(await readFile(file, 'utf8')) as { file: unknown }).file;
    };
    await expect.poll(fileOfRed).toBe('new/red.yaml');
    await store.refresh();
    expect(seen).toEqual(['added blue', 'added red', 'synced']);
  });

  test('of two definitions the one that was there first counts, and both places are named', async () => {
    await write('m.yaml', network('blue'));
    const store = await start();
    const seen = follow(store, userDefinedNetworks);
    await write('a.yaml', `---${network('blue', '10.99.0.0/16')}`);
    await expect
      .poll(() => problems(store))
      .toEqual([
        'manifests/a.yaml:2: UserDefinedNetwork tenant-a/blue: is also defined at manifests/m.yaml:2, which counts; remove one of the two',
      ]);
    await write('a.yaml', network('blue')); // the same content: then it may take over
    await rm(join(manifests, 'm.yaml'));
    await expect.poll(() => problems(store)).toEqual([]);
    await store.refresh();
    expect(seen).toEqual(['added blue', 'synced']);
  });

  test('a directory may appear later, and disappear without taking the objects along', async () => {
    await rm(manifests, { recursive: true });
    const store = await start({ timing: { debounce: 5, removalGrace: 60, poll: 20 } });
    expect(problems(store)).toEqual([
      'manifests: there is no such directory (yet): create it, or name another one with --manifests',
    ]);
    await write('blue.yaml', network('blue'));
    await expect.poll(() => keys(store, userDefinedNetworks)).toEqual(['tenant-a/blue']);
    await expect.poll(() => problems(store)).toEqual([]);
    await rename(manifests, `${manifests}-elsewhere`);
    await expect.poll(() => problems(store)).toHaveLength(1);
    await store.refresh();
    await store.refresh();
    expect(await keys(store, userDefinedNetworks)).toEqual(['tenant-a/blue']);
  });

  test('an object that a manifest defines is deleted there, not through the store', async () => {
    await write('blue.yaml', network('blue'));
    const store = await start();
    await expect(store.delete(userDefinedNetworks, 'tenant-a/blue')).rejects.toThrow(
      'UserDefinedNetwork tenant-a/blue: is defined in blue.yaml; remove it there',
    );
  });

  test('a corrupt record is set aside and reported; the object goes on without it', async () => {
    await write('blue.yaml', network('blue'));
    await write('red.yaml', network('red'));
    await (await start()).close();
    const records = join(state, 'objects/userdefinednetworks.k8s.ovn.org/tenant-a');
    await writeFile(join(records, 'blue.json'), '{"apiVersion": "k8s.ovn');
    await writeFile(join(records, 'red.json'), '[1, 2]');
    const store = await start();
    expect(await keys(store, userDefinedNetworks)).toEqual(['tenant-a/blue', 'tenant-a/red']);
    expect((await readdir(records)).sort()).toEqual([
      'blue.json',
      'blue.json.corrupt',
      'red.json',
      'red.json.corrupt',
    ]);
    expect(problems(store).join('\n')).toMatch(/blue\.json: .*set aside as .*blue\.json\.corrupt/);
  });

  test('a trial run starts from what is known and leaves no trace', async () => {
    await write('blue.yaml', network('blue'));
    const real = await start();
    const id = { metadata: { annotations: { id: '3' } } };
    await real.patch(userDefinedNetworks, 'tenant-a/blue', id, WRITER);
    await write('red.yaml', network('red'));
    const trial = await start({ dryRun: true });
    const blue = await trial.get(userDefinedNetworks, 'tenant-a/blue');
    expect(blue?.metadata.annotations).toEqual({ id: '3' });
    const other = { metadata: { annotations: { id: '4' } } };
    await trial.patch(userDefinedNetworks, 'tenant-a/red', other, WRITER);
    const red = await trial.get(userDefinedNetworks, 'tenant-a/red');
    expect(red?.metadata.annotations).toEqual({ id: '4' });
    const nowhere = await start({ dryRun: true, state: join(folder, 'no-state') });
    expect(await keys(nowhere, userDefinedNetworks)).toEqual(['tenant-a/blue', 'tenant-a/red']);
    expect((await readdir(folder)).sort()).toEqual(['manifests', 'state']);
    const real2 = await start();
    const untouched = await real2.get(userDefinedNetworks, 'tenant-a/red');
    expect(untouched?.metadata.annotations).toBeUndefined();
  });

  test('processes that start together on one state directory agree', async () => {
    await write(
      'many.yaml',
      Array.from({ length: 60 }, (_, index) => network(`net-${index}`)).join('---'),
    );
    const stores = await Promise.all([start(), start(), start()]);
    const [one, two, three] = await Promise.all(
      stores.map((store) => store.list(userDefinedNetworks)),
    );
    const sorted = (objects: readonly KubeObject[] = []): KubeObject[] =>
      objects.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
    expect(one).toHaveLength(60);
    expect(sorted(two)).toEqual(sorted(one));
    expect(sorted(three)).toEqual(sorted(one));
    expect(one?.every(({ metadata }) => metadata.generation === 1)).toBe(true);
    await write('many.yaml', network('net-0', '10.20.0.0/16', '  labels: { a: b }\n'));
    const labelled = async (store: ManifestStore): Promise<unknown> =>
      (await store.list(userDefinedNetworks)).map(({ metadata: { name, labels } }) => [
        name,
        labels,
      ]);
    for (const store of stores)
      await expect.poll(() => labelled(store)).toEqual([['net-0', { a: 'b' }]]);
  });

  test('events are forgotten after an hour', async () => {
    await write('blue.yaml', network('blue'));
    let now = Date.parse('2026-01-01T00:00:00Z');
    const clock = { ...systemClock, now: () => now, monotonic: () => now };
    const store = await start({ clock });
    const regarding = await store.get(userDefinedNetworks, 'tenant-a/blue');
    if (regarding === undefined) expect.unreachable();
    await store.event({ regarding, type: 'Normal', reason: 'Made', message: 'is there' });
    now += 3_500_000;
    await store.refresh();
    expect(await store.list(EVENTS)).toHaveLength(1);
    now += 200_000;
    await store.refresh();
    now += 1000; // the grace time
    await store.refresh();
    expect(await store.list(EVENTS)).toEqual([]);
  });

  test('problems are told when they change', async () => {
    const store = await start();
    const told: number[] = [];
    const stop = store.onProblems((list) => told.push(list.length));
    await write('bad.yaml', 'a: b: c');
    await expect.poll(() => told).toEqual([0, 1]);
    stop();
    await rm(join(manifests, 'bad.yaml'));
    await expect.poll(() => problems(store)).toEqual([]);
    expect(told).toEqual([0, 1]);
  });

  test('a state directory that can not be made is an error that names it', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(start({ state: join(folder, 'file', 'state') })).rejects.toThrow(
      /state directory .*file\/state can't be created/,
    );
  });
});
