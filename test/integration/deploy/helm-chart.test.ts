import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { KubeObject } from '../../../src/api/objects.ts';
import { parseManifest } from '../../../src/api/validation/manifest.ts';
import { checkTogether } from '../../../src/cli/validate-together.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { VERSION } from '../../../src/process/version.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { kubeTools, type KubeTools } from '../../support/cluster/kube-tools.ts';

const DEPLOY = resolve(import.meta.dirname, '../../../deploy');
const CHART = join(DEPLOY, 'helm/heddle');

const tools = await kubeTools();
if (typeof tools === 'string') console.warn(`the Helm chart is not tested: ${tools}`);

interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: string;
  readonly resources: object;
  readonly envFrom?: readonly { readonly configMapRef: { name: string } }[];
}
interface Workload extends KubeObject {
  readonly spec: {
    replicas?: number;
    updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxUnavailable: unknown };
    };
    readonly template: {
      readonly metadata: {
        annotations?: Record<string, string>;
        readonly labels?: Readonly<Record<string, string>>;
      };
      readonly spec: {
        readonly priorityClassName?: string;
        readonly tolerations?: readonly object[];
        readonly nodeSelector?: object;
        readonly initContainers?: readonly Container[];
        readonly containers: readonly Container[];
        readonly imagePullSecrets?: readonly object[];
      };
    };
  };
}
type Values = Readonly<Record<string, unknown>>;

/** The suffix of a generated ConfigMap says what is in it. */
const stableName = (name: string): string => name.replace(/^(heddle-settings)-.*/, '$1');
const keyOf = ({ kind, metadata }: KubeObject): string =>
  [kind, metadata.namespace, stableName(metadata.name)].filter((it) => it !== undefined).join(' ');
const objectsIn = (text: string): ReadonlyMap<string, KubeObject> =>
  new Map(
    parseAllDocuments(text)
      .map((document) => document.toJS() as KubeObject | null)
      .filter((object) => object !== null)
      .map((object) => [keyOf(object), object]),
  );

describe.skipIf(typeof tools === 'string')('the Helm chart', () => {
  const { helm, kubectl } = tools as KubeTools;
  const run = promisify(execFile);
  const MOST = { maxBuffer: 1 << 26 };

  async function rendered(
    values: Values = {},
    namespace = 'heddle',
  ): Promise<ReadonlyMap<string, KubeObject>> {
    const args = ['template', 'heddle', CHART, `--namespace=${namespace}`, '--include-crds'];
    const running = run(helm, [...args, '--values=-'], MOST);
    running.child.stdin?.end(stringify(values));
    return objectsIn((await running).stdout);
  }
  const refusal = async (values: Values, namespace?: string): Promise<string> =>
    rendered(values, namespace).then(
      () => expect.unreachable('it was rendered'),
      (error: { stderr: string }) => error.stderr,
    );
  const applied = async (folder = DEPLOY): Promise<ReadonlyMap<string, KubeObject>> =>
    objectsIn((await run(kubectl, ['kustomize', folder], MOST)).stdout);
  /** What a person reads after the installation. */
  async function notes(...flags: readonly string[]): Promise<string> {
    const args = ['install', 'heddle', CHART, '--namespace=heddle', '--dry-run=client', ...flags];
    const { stdout } = await run(helm, args, MOST);
    return stdout.split(/^NOTES:$/m)[1] ?? expect.unreachable('no notes');
  }
  const one = <T extends KubeObject>(objects: ReadonlyMap<string, KubeObject>, key: string): T =>
    (objects.get(key) as T | undefined) ?? expect.unreachable(`no ${key}`);
  const node = async (values: Values): Promise<Workload> =>
    one(await rendered(values), 'DaemonSet heddle heddle-node');
  const cluster = async (values: Values): Promise<Workload> =>
    one(await rendered(values), 'Deployment heddle heddle-cluster');
  const settings = async (values: Values): Promise<Record<string, string>> =>
    one<KubeObject & { data: Record<string, string> }>(
      await rendered(values),
      'ConfigMap heddle heddle-settings',
    ).data;

  /** An object of both without what the two ways of installing say in their own manner. */
  const comparable = (object: KubeObject): KubeObject => {
    const copy = structuredClone(object) as Workload;
    const { metadata, spec } = copy;
    (metadata as { name: string }).name = stableName(metadata.name);
    if (spec?.template !== undefined) {
      delete spec.template.metadata.annotations;
      const { initContainers = [], containers } = spec.template.spec;
      for (const container of [...initContainers, ...containers]) {
        delete (container as { imagePullPolicy?: string }).imagePullPolicy;
        for (const { configMapRef } of container.envFrom ?? [])
          configMapRef.name = stableName(configMapRef.name);
      }
    }
    return copy;
  };

  test('is without a fault', async () => {
    const { stdout } = await run(helm, ['lint', '--strict', CHART]);
    expect(stdout).toContain('0 chart(s) failed');
  });

  test('installs what kubectl apply -k installs, but for the namespace, in which Helm keeps its release', async () => {
    const [chart, kustomization] = [await rendered(), await applied()];
    expect([...chart.keys(), 'Namespace heddle'].sort()).toEqual([...kustomization.keys()].sort());
    for (const [key, object] of chart)
      expect(comparable(object), key).toEqual(comparable(one(kustomization, key)));
  });

  test('lives in its own namespace', async () => {
    expect(await refusal({}, 'default')).toContain('add --namespace heddle');
  });

  test('can be packed, and unpacked elsewhere', async () => {
    const folder = ownFolder('heddle-chart');
    try {
      await run(helm, ['package', CHART, `--destination=${folder}`]);
      const args = ['template', 'heddle', `${folder}/heddle-${VERSION}.tgz`, '--include-crds'];
      const { stdout } = await run(helm, [...args, '--namespace=heddle'], MOST);
      expect(objectsIn(stdout)).toEqual(await rendered());
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('takes an image for all containers', async () => {
    const image = { repository: 'registry.example/heddle', tag: '1', pullSecrets: ['mine'] };
    const { containers, imagePullSecrets } = (await node({ image })).spec.template.spec;
    expect(new Set(containers.map((container) => container.image))).toEqual(
      new Set(['registry.example/heddle:1']),
    );
    expect(imagePullSecrets).toEqual([{ name: 'mine' }]);
  });

  test('hands settings to both daemons, which can read them', async () => {
    const values = {
      apiServer: { host: '192.0.2.10' },
      clusterSubnets: ['10.244.0.0/16/24', 'fd00:10:244::/48/64'],
      serviceSubnets: ['10.96.0.0/16', 'fd00:10:96::/112'],
      gatewayMode: 'local',
      mtu: 1300,
      traces: { endpoint: 'http://collector.observability:4318', ratio: 0.05 },
      settings: { 'max-networks': 2000, render: 'everywhere', 'take-over': true },
    };
    const environment = await settings(values);
    expect(environment).toEqual({
      KUBERNETES_SERVICE_HOST: '192.0.2.10',
      KUBERNETES_SERVICE_PORT: '6443',
      HEDDLE_LOG_LEVEL: 'info',
      HEDDLE_CLUSTER_SUBNETS: '10.244.0.0/16/24,fd00:10:244::/48/64',
      HEDDLE_K8S_SERVICE_CIDRS: '10.96.0.0/16,fd00:10:96::/112',
      HEDDLE_GATEWAY_MODE: 'local',
      HEDDLE_MTU: '1300',
      HEDDLE_TRACES_ENDPOINT: 'http://collector.observability:4318',
      HEDDLE_TRACES_RATIO: '0.05',
      HEDDLE_MAX_NETWORKS: '2000',
      HEDDLE_RENDER: 'everywhere',
      HEDDLE_TAKE_OVER: 'true',
    });
    expect(resolveConfiguration({ flags: {}, environment })).toMatchObject({
      render: 'everywhere',
      takeOver: true,
      traces: { ratio: 0.05 },
      gateway: { mode: 'local' },
      settings: { mtu: 1300 },
      manager: { limits: { networks: 2000 } },
    });
    const from = ({ spec }: Workload): readonly string[] =>
      spec.template.spec.containers
        .filter(({ envFrom }) => envFrom?.[0]?.configMapRef.name === 'heddle-settings')
        .map(({ name }) => name);
    expect(from(await node(values))).toEqual(['node']);
    expect(from(await cluster(values))).toEqual(['cluster']);
  });

  test('takes fractions and 0 as they are written', async () => {
    expect(
      await settings({ settings: { 'traces-ratio': 0.25, 'max-networks': 2000 } }),
    ).toMatchObject({ HEDDLE_TRACES_RATIO: '0.25', HEDDLE_MAX_NETWORKS: '2000' });
    expect(await settings({ traces: { ratio: 0 } })).toMatchObject({ HEDDLE_TRACES_RATIO: '0' });
  });

  test('starts pods anew when a setting changes, and only then', async () => {
    const annotations = async (values: Values): Promise<object | undefined> =>
      (await node(values)).spec.template.metadata.annotations;
    expect(await annotations({ mtu: 1300 })).not.toEqual(await annotations({}));
    expect(await annotations({ cluster: { replicas: 1 } })).toEqual(await annotations({}));
  });

  test('takes replicas, resources and the pace of an update', async () => {
    const resources = { requests: { cpu: '1', memory: '1Gi' } };
    const values = {
      cluster: { replicas: 3, resources },
      node: { maxUnavailable: 1, resources: { controller: resources } },
    };
    const manager = await cluster(values);
    expect(manager.spec.replicas).toBe(3);
    expect(manager.spec.template.spec.containers[0]?.resources).toEqual(resources);
    const daemon = await node(values);
    expect(daemon.spec.updateStrategy?.rollingUpdate?.maxUnavailable).toBe(1);
    const changed = daemon.spec.template.spec.containers.filter(
      (container) => JSON.stringify(container.resources) === JSON.stringify(resources),
    );
    expect(changed.map(({ name }) => name)).toEqual(['controller']);
  });

  test('takes where pods run, with which priority, and what is said of them', async () => {
    const toleration = {
      key: 'dedicated',
      operator: 'Equal',
      value: 'infra',
      effect: 'NoSchedule',
    };
    const part = {
      priorityClassName: 'mine',
      tolerations: [toleration],
      nodeSelector: { pool: 'a' },
      annotations: { 'example.org/team': 'net' },
      labels: { team: 'net', 'app.kubernetes.io/name': 'another' },
    };
    const values = { cluster: part, node: { ...part, updateStrategy: 'OnDelete' } };
    const objects = await rendered(values);
    for (const key of ['DaemonSet heddle heddle-node', 'Deployment heddle heddle-cluster']) {
      const { metadata, spec } = one<Workload>(objects, key).spec.template;
      expect(spec.priorityClassName).toBe('mine');
      expect(spec.tolerations).toEqual([toleration]);
      expect(spec.nodeSelector).toEqual({ 'kubernetes.io/os': 'linux', pool: 'a' });
      expect(Object.keys(metadata.annotations ?? {}).toSorted()).toEqual([
        'example.org/team',
        'heddle/settings',
      ]);
      // Selectors and policies go by those of the files.
      expect(metadata.labels).toMatchObject({ team: 'net', 'app.kubernetes.io/name': 'heddle' });
    }
    expect(one<Workload>(objects, 'DaemonSet heddle heddle-node').spec.updateStrategy).toEqual({
      type: 'OnDelete',
    });
  });

  test("adds what tenants may do to Kubernetes' own roles where that is wanted", async () => {
    const labels = async (values?: Values): Promise<readonly unknown[]> => {
      const objects = await rendered(values);
      return ['editor', 'viewer'].map(
        (who) => one(objects, `ClusterRole heddle-network-${who}`).metadata.labels,
      );
    };
    expect(await labels()).toEqual([undefined, undefined]);
    expect(await labels({ tenants: { aggregate: true } })).toEqual([
      { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' },
      { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' },
    ]);
  });

  test('ranks requests as kubectl apply -k deploy/request-priority does, where it is wanted', async () => {
    const kustomization = await applied(join(DEPLOY, 'request-priority'));
    const kinds = async (values: Values): Promise<KubeObject[]> =>
      [...(await rendered(values)).values()]
        .filter(({ kind }) => kind === 'FlowSchema')
        .sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
    expect(await kinds({ requestPriority: true })).toEqual([...kustomization.values()]);
    expect(await kinds({})).toEqual([]);
  });

  test('brings what kubectl apply -k deploy/monitoring brings, where it is wanted', async () => {
    const kustomization = await applied(join(DEPLOY, 'monitoring'));
    const without = await rendered();
    const whole = await rendered({
      monitoring: { podMonitor: true, alerts: true, dashboards: true },
    });
    const added = new Map([...whole].filter(([key]) => !without.has(key)));
    expect(added).toEqual(kustomization);
    const alone = await rendered({
      monitoring: { podMonitor: true, labels: { release: 'p' }, interval: '30s' },
    });
    expect(alone.has('PrometheusRule heddle heddle')).toBe(false);
    expect(one(alone, 'PodMonitor heddle heddle')).toMatchObject({
      metadata: { labels: { release: 'p', 'app.kubernetes.io/name': 'heddle' } },
      spec: { podMetricsEndpoints: [{ port: 'metrics', interval: '30s' }] },
    });
  });

  test('leads to the first network, which is valid as it stands in the notes', async () => {
    const text = await notes();
    const [, network = ''] = /^kubectl apply -f - <<'END'\n([^]*?)^END$/m.exec(text) ?? [];
    const { documents, errors } = parseManifest(network, 'NOTES.txt');
    expect(errors).toEqual([]);
    expect(documents.map(({ object }) => object.kind)).toEqual(['Namespace', 'UserDefinedNetwork']);
    const { warnings } = checkTogether(documents, DEFAULT_SETTINGS);
    expect(warnings).toEqual([]);
    for (const missing of ['apiServer.host', 'settings.gateway-interface'])
      expect(text).toContain(missing);
    const told = await notes(
      '--set=apiServer.host=192.0.2.10',
      '--set=settings.gateway-interface=eth0',
    );
    expect(told).not.toMatch(/apiServer\.host|gateway-interface/);
  });

  test.each<[string, Values, string]>([
    ['a value that it does not know', { clusterSubnet: '10.0.0.0/8' }, 'clusterSubnet'],
    ['a subnet that is none', { clusterSubnets: ['pods'] }, 'clusterSubnets'],
    ['a gateway mode that is none', { gatewayMode: 'routed' }, 'gatewayMode'],
    ['a toleration that is none', { node: { tolerations: [{ keys: 'a' }] } }, 'tolerations'],
    [
      'a number in the place of a label',
      { cluster: { nodeSelector: { pool: 1 } } },
      'nodeSelector',
    ],
    [
      'a quantity that is none',
      { cluster: { resources: { limits: { memory: '1 GB' } } } },
      'memory',
    ],
    ['an update strategy that is none', { node: { updateStrategy: 'Recreate' } }, 'updateStrategy'],
    ['a pace of more than all nodes', { node: { maxUnavailable: '101%' } }, 'maxUnavailable'],
    ['an interval that is none', { monitoring: { interval: 'often' } }, 'interval'],
    [
      'resources of a container that is not there',
      { node: { resources: { nortbound: {} } } },
      'node.resources: there is no container nortbound, but install-cni, northbound, southbound',
    ],
  ])('refuses %s', async (_what, values, message) => {
    expect(await refusal(values)).toContain(message);
  });
});
