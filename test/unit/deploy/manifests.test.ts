import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CNI_SOCKET } from '../../../src/cni/install/shim.ts';
import { parseBindAddress } from '../../../src/process/bind-address.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { objectKinds } from '../../../src/model/read/object-kinds.ts';
import { DAEMON_OPTIONS, program } from '../../../src/lab/paths.ts';
import {
  manifests,
  named,
  ROOT,
  yamlFiles,
  type Manifest,
} from '../../support/cluster/deploy-manifests.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}
interface Role extends Manifest {
  readonly rules: readonly Rule[];
}
const resourcesOf = (file: string): string[] =>
  (parse(readFileSync(join(ROOT, file), 'utf8')) as { resources: string[] }).resources;
describe('deploy/', () => {
  test('kubectl apply -k installs every file and every definition', () => {
    const [definitionsFolder, files] = [
      resourcesOf('deploy/kustomization.yaml').filter((name) => name.includes('/')),
      resourcesOf('deploy/kustomization.yaml').filter((name) => !name.includes('/')),
    ];
    expect(definitionsFolder).toEqual(['../schemas/crds']);
    expect(files.toSorted()).toEqual(yamlFiles('deploy'));
    expect(resourcesOf('schemas/crds/kustomization.yml')).toEqual(yamlFiles('schemas/crds'));
  });

  test('the Helm chart reads the files of deploy/, and has none of its own', () => {
    const chart = join(ROOT, 'deploy/helm/heddle');
    const files = yamlFiles('deploy').filter((name) => name !== 'namespace.yaml');
    expect(yamlFiles('deploy/helm/heddle/files')).toEqual(files);
    for (const name of files)
      expect(realpathSync(join(chart, 'files', name))).toBe(join(ROOT, 'deploy', name));
    expect(realpathSync(join(chart, 'crds'))).toBe(join(ROOT, 'schemas/crds'));
  });

  test('the definitions convert through a service that is there', () => {
    const services = definitions.flatMap(({ spec }) => {
      const { conversion } = spec as { conversion?: { webhook?: { clientConfig?: object } } };
      return conversion?.webhook?.clientConfig ?? [];
    });
    expect(services).toHaveLength(2);
    const service = named<Manifest & { spec: { ports: { port: number }[] } }>(
      'Service',
      'heddle-cluster',
    );
    for (const client of services)
      expect(client).toMatchObject({
        service: {
          name: service.metadata.name,
          namespace: service.metadata.namespace,
          port: service.spec.ports[0]?.port,
        },
      });
  });
});

describe('the image', () => {
  const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8').replaceAll(/\\\n/g, ' ');
  const packages = / install --yes --no-install-recommends\s+([^&]+)/.exec(dockerfile)?.[1] ?? '';

  test('starts daemons with the options of Node.js that labs and tests start them with', () => {
    const entrypoint = /^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] ?? '';
    expect(JSON.parse(entrypoint)).toEqual(['node', ...DAEMON_OPTIONS, '/app/dist/cli/main.js']);
  });

  test('has the packages of every program that is run', () => {
    const needed = {
      'ovn-central': 'ovn-northd, schemas',
      'ovn-host': 'ovn-controller',
      'openvswitch-switch': 'ovs-ofctl, ovsdb-server, ovsdb-tool',
      nftables: 'nft',
      netbase: '/etc/protocols, which nft reads',
      openssl: 'the certificate of the conversion webhook',
      'libstdc++6': 'node',
    };
    expect(packages.trim().split(/\s+/)).toEqual(expect.arrayContaining(Object.keys(needed)));
  });

  test('is made of files that the builder is handed', () => {
    const handed = readFileSync(join(ROOT, '.dockerignore'), 'utf8').trim().split('\n');
    expect(handed[0]).toBe('*');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(
      ([, sources = '']) => sources.split(' '),
    );
    expect(copied.length).toBeGreaterThan(4);
    for (const source of copied) {
      expect(
        handed.some((entry) => `${source}/`.startsWith(`${entry.slice(1)}/`)),
        source,
      ).toBe(true);
      expect(existsSync(join(ROOT, source)), source).toBe(true);
    }
  });

  test('runs what the package runs: the command as it was compiled', () => {
    const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      bin: { heddle: string };
    };
    expect(program).toBe(join(ROOT, bin.heddle));
    expect(dockerfile).toContain(`"${join('/app', bin.heddle)}"]`);
    expect(readFileSync(join(ROOT, 'dist/NOTICES'), 'utf8')).toContain('commander');
  });

  interface Pod {
    readonly spec: {
      readonly template: {
        readonly spec: {
          readonly securityContext?: object;
          readonly containers: readonly {
            readonly name: string;
            readonly securityContext: { readonly runAsUser?: number };
          }[];
        };
      };
    };
  }
  test('is nobody’s but where the host is worked on', () => {
    expect(dockerfile).toMatch(/^USER 65532:65532$/m);
    const node = named<Manifest & Pod>('DaemonSet', 'heddle-node').spec.template.spec;
    expect(node.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 0,
      seLinuxOptions: { type: 'spc_t' },
    });
    const manager = named<Manifest & Pod>('Deployment', 'heddle-cluster').spec.template.spec;
    expect(manager.containers[0]?.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
    });
  });
});

describe('the node daemon', () => {
  interface Container {
    readonly name: string;
    readonly args?: readonly string[];
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    readonly securityContext: object;
  }
  const { spec } = named<
    Manifest & {
      spec: {
        template: {
          spec: {
            hostNetwork: boolean;
            initContainers: Container[];
            containers: Container[];
            volumes: { name: string; hostPath?: { path: string } }[];
          };
        };
      };
    }
  >('DaemonSet', 'heddle-node');
  const pod = spec.template.spec;
  const container = (name: string): Container =>
    [...pod.initContainers, ...pod.containers].find((one) => one.name === name) ??
    expect.unreachable(`no container ${name}`);
  const flags = (name: string): Record<string, string> =>
    Object.fromEntries(
      (container(name).args ?? [])
        .filter((arg) => arg.startsWith('--'))
        .map((arg) => arg.slice(2).split('=') as [string, string]),
    );
  /** Path on the host of one in a container. */
  const onHost = (name: string, path: string): string => {
    const mount = container(name).volumeMounts.find((one) => path.startsWith(one.mountPath));
    const volume = pod.volumes.find((one) => one.name === mount?.name);
    return volume?.hostPath === undefined || mount === undefined
      ? expect.unreachable(`${path} is not the host's`)
      : `${volume.hostPath.path}${path.slice(mount.mountPath.length)}`;
  };

  test('keeps the host: its settings are ones that the daemon takes, and all they name is the host’s', () => {
    const given = flags('node');
    const configuration = resolveConfiguration({
      flags: { ...given, node: 'n1' },
      environment: {},
    });
    expect(configuration.ovs).toBe('unix:/var/run/openvswitch/db.sock');
    for (const remote of [configuration.nb, configuration.sb, configuration.ovs])
      expect(onHost('node', (remote ?? '').slice('unix:'.length))).toBe(
        (remote ?? '').slice('unix:'.length),
      );
    for (const path of ['/var/run/netns', '/sys/fs/cgroup'])
      expect(onHost('node', path)).toBe(path);
    expect(onHost('node', `${configuration.sysctlFolder}/net`)).toBe('/proc/sys/net');
    expect(pod.hostNetwork).toBe(true);
  });

  test('works on the host without being privileged', () => {
    expect(JSON.stringify(manifests)).not.toContain('"privileged":');
    expect(container('node').securityContext).toEqual({
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['DAC_OVERRIDE', 'NET_ADMIN', 'NET_RAW', 'SYS_ADMIN'] },
      seccompProfile: { type: 'RuntimeDefault' },
      appArmorProfile: { type: 'Unconfined' },
    });
  });

  test('answers the runtime on the socket that the installed plugin asks', () => {
    expect(flags('node')['cni-socket']).toBe(CNI_SOCKET);
    expect(onHost('node', CNI_SOCKET)).toBe(CNI_SOCKET);
    const { 'bin-dir': binDir = '', 'conf-dir': confDir = '' } = flags('install-cni');
    expect(onHost('install-cni', binDir)).toBe('/opt/cni/bin');
    expect(onHost('node', flags('node')['cni-conf-dir'] ?? '')).toBe('/etc/cni/net.d');
    // The daemon writes the configuration once it answers.
    expect([confDir, container('install-cni').args]).toEqual([
      '',
      expect.arrayContaining(['--no-conf']),
    ]);
  });

  test('nothing beside it has more rights than to read what is root’s, or a file system to write to', () => {
    const others = [...pod.initContainers, ...pod.containers].filter(({ name }) => name !== 'node');
    expect(others).toHaveLength(5);
    for (const { name, securityContext } of others)
      expect(securityContext, name).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'], add: ['DAC_OVERRIDE'] },
        seccompProfile: { type: 'RuntimeDefault' },
      });
  });

  test('every volume is there, and is used', () => {
    const mounted = [...pod.initContainers, ...pod.containers].flatMap(({ volumeMounts }) =>
      volumeMounts.map(({ name }) => name),
    );
    expect([...new Set(mounted)].toSorted()).toEqual(
      pod.volumes.map(({ name }) => name).toSorted(),
    );
  });
});

describe('what takes it off the nodes', () => {
  interface Container {
    readonly name: string;
    readonly args?: readonly string[];
    readonly securityContext: {
      readonly privileged?: boolean;
      readonly capabilities: { readonly add?: readonly string[] };
    };
    readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  }
  interface Workload {
    readonly spec: {
      readonly template: {
        readonly spec: {
          readonly automountServiceAccountToken?: boolean;
          readonly initContainers: readonly Container[];
          readonly containers: readonly Container[];
          readonly volumes: readonly { readonly name: string; readonly hostPath?: object }[];
        };
      };
    };
  }
  const cleanup = parse(
    readFileSync(join(ROOT, 'deploy/cleanup/node-cleanup.yaml'), 'utf8'),
  ) as Workload;
  const { initContainers, containers, volumes, ...pod } = cleanup.spec.template.spec;
  const installed = named<Manifest & Workload>('DaemonSet', 'heddle-node').spec.template.spec;

  test('finds all where it was put', () => {
    const all = (of: typeof installed): Map<string, unknown> =>
      new Map(
        [...of.initContainers, ...of.containers].flatMap(({ volumeMounts = [] }) =>
          volumeMounts.map(({ name, mountPath }) => [
            mountPath,
            of.volumes.find((volume) => volume.name === name)?.hostPath ?? 'of the pod',
          ]),
        ),
      );
    const there = all(installed);
    const here = all({ ...pod, initContainers, containers, volumes });
    expect(here.size).toBe(5);
    for (const [path, volume] of here) expect(volume, path).toEqual(there.get(path));
    const flagsOf = (of: readonly Container[], name: string): string[] =>
      (of.find((one) => one.name === name)?.args ?? []).filter((arg) => arg.startsWith('--'));
    const [binDir, confDir] = flagsOf(initContainers, 'uninstall-cni');
    expect(flagsOf(installed.initContainers, 'install-cni')).toContain(binDir);
    expect(flagsOf(installed.containers, 'node')).toContain(confDir?.replace('--', '--cni-'));
    for (const flag of flagsOf(initContainers, 'cleanup'))
      expect(flagsOf(installed.containers, 'node')).toContain(flag);
  });

  test('may no more than that takes, and says nothing to the API server', () => {
    expect(pod.automountServiceAccountToken).toBe(false);
    const rights = [...initContainers, ...containers].map(({ name, securityContext }) => [
      name,
      securityContext.privileged ?? false,
      securityContext.capabilities.add ?? [],
    ]);
    expect(rights).toEqual([
      ['uninstall-cni', false, ['DAC_OVERRIDE']],
      ['cleanup', false, ['DAC_OVERRIDE', 'NET_ADMIN']],
      ['done', false, []],
    ]);
  });
});

describe('what listens on more than loopback', () => {
  interface Container {
    readonly env?: readonly { readonly name: string; readonly value?: string }[];
    readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
    readonly livenessProbe?: Probe;
    readonly readinessProbe?: Probe;
    readonly startupProbe?: Probe;
  }
  interface Probe {
    readonly httpGet?: { readonly port: string; readonly scheme?: string; readonly host?: string };
  }
  interface Workload {
    readonly spec: { readonly template: { readonly spec: { readonly containers: Container[] } } };
  }
  const containers = [
    named<Manifest & Workload>('DaemonSet', 'heddle-node'),
    named<Manifest & Workload>('Deployment', 'heddle-cluster'),
  ].flatMap(({ spec }) => spec.template.spec.containers);

  test('listens on both families, so that nodes with one of them alone are served', () => {
    const addresses = containers.flatMap(({ env = [], ports = [] }) =>
      env
        .filter(({ name }) => name.endsWith('_BIND_ADDRESS'))
        .map(({ value = '' }) => ({ ...parseBindAddress(value), ports })),
    );
    expect(addresses).toHaveLength(3);
    for (const { host, port, ports } of addresses) {
      expect(host).toBe('');
      expect(ports.map(({ containerPort }) => containerPort)).toContain(port);
    }
  });

  test('is probed by TLS at the pod’s own address, whatever its family', () => {
    const probes = containers
      .flatMap((one) => [one.livenessProbe, one.readinessProbe, one.startupProbe])
      .flatMap((probe) => probe?.httpGet ?? []);
    expect(probes.length).toBeGreaterThanOrEqual(4);
    for (const probe of probes)
      expect(probe).toEqual(expect.objectContaining({ port: 'metrics', scheme: 'HTTPS' }));
    expect(probes.filter(({ host }) => host !== undefined)).toEqual([]);
  });
});

test('a process has twice the memory that it was seen to take with 500 networks, and an end to it', () => {
  const text = readFileSync(join(ROOT, 'docs/install.md'), 'utf8');
  const megabytes = (amount: string): number =>
    Number.parseInt(amount, 10) * (amount.endsWith('Gi') ? 1024 : 1) * 1.048576;
  const measured = [
    ...text.matchAll(/^\| `([\w-]+)` .*\| (\d+ [MG]i) \| .*with 500 networks (\d+) MB/gm),
  ];
  expect(measured.map(([, name]) => name)).toEqual([
    'cluster',
    'northbound',
    'southbound',
    'northd',
    'controller',
    'node',
  ]);
  for (const [, name, limit = '', most] of measured)
    expect(megabytes(limit), name).toBeGreaterThan(2 * Number(most));
});

describe('probes', () => {
  interface Probe {
    readonly httpGet?: { readonly path: string };
    readonly periodSeconds: number;
    readonly timeoutSeconds: number;
    readonly failureThreshold?: number;
  }
  interface Container {
    readonly name: string;
    readonly startupProbe?: Probe;
    readonly livenessProbe?: Probe;
    readonly readinessProbe?: Probe;
  }
  interface Workload {
    readonly spec: { readonly template: { readonly spec: { readonly containers: Container[] } } };
  }
  const containers = [
    named<Manifest & Workload>('DaemonSet', 'heddle-node'),
    named<Manifest & Workload>('Deployment', 'heddle-cluster'),
  ].flatMap(({ spec }) => spec.template.spec.containers);
  /** Seconds after which kubelet ends a container that does not answer. */
  const patience = ({ periodSeconds, failureThreshold = 3 }: Probe): number =>
    periodSeconds * failureThreshold;
  const live = containers.filter(({ livenessProbe }) => livenessProbe !== undefined);

  test('end a daemon that hangs, and nothing of OVN', () => {
    expect(live.map(({ name }) => name)).toEqual(['node', 'cluster']);
    for (const { livenessProbe } of live) expect(livenessProbe?.httpGet?.path).toBe('/healthz');
  });

  test('leave a start ten minutes, and a daemon of a loaded node five to answer', () => {
    for (const { name, startupProbe, livenessProbe } of live) {
      expect(startupProbe?.httpGet?.path, name).toBe('/healthz');
      expect(startupProbe && patience(startupProbe), name).toBeGreaterThanOrEqual(600);
      expect(livenessProbe && patience(livenessProbe), name).toBeGreaterThanOrEqual(300);
    }
  });

  test('wait longer for an answer than kubelet does by itself', () => {
    for (const { name, ...probes } of containers)
      for (const probe of [probes.startupProbe, probes.livenessProbe, probes.readinessProbe])
        expect(probe?.timeoutSeconds ?? 5, name).toBeGreaterThanOrEqual(5);
  });
});

describe('permissions', () => {
  const roles = manifests.filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role') as Role[];
  /** `verb group/resource` for everything that a role allows to change. */
  const writes = (name: string): string[] =>
    named<Role>('ClusterRole', name)
      .rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            verbs
              .filter((verb) => !['get', 'list', 'watch'].includes(verb))
              .map((verb) => `${verb} ${group === '' ? '' : `${group}/`}${resource}`),
          ),
        ),
      )
      .sort();

  test('nothing is granted by wildcard, and nobody may escalate', () => {
    for (const { metadata, rules } of roles)
      for (const rule of rules) {
        const { apiGroups = [], resources = [], nonResourceURLs = [], verbs } = rule;
        const all = [...apiGroups, ...resources, ...nonResourceURLs, ...verbs];
        expect(all, metadata.name).not.toContain('*');
        for (const word of ['escalate', 'bind', 'impersonate', 'deletecollection', 'pods/exec'])
          expect(all, metadata.name).not.toContain(word);
        expect(apiGroups, metadata.name).not.toContain('rbac.authorization.k8s.io');
      }
    const overCluster = roles.filter(({ kind }) => kind === 'ClusterRole');
    for (const { rules } of overCluster)
      expect(rules.flatMap(({ resources = [] }) => resources)).not.toContain('secrets');
  });

  test('the node daemon reads every kind that it follows', () => {
    const { rules } = named<Role>('ClusterRole', 'heddle-node');
    const refused = objectKinds.filter(
      ({ kind: { apiVersion, plural } }) =>
        !rules.some(
          ({ apiGroups = [], resources = [], verbs }) =>
            apiGroups.includes(apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '') &&
            resources.includes(plural) &&
            ['list', 'watch'].every((verb) => verbs.includes(verb)),
        ),
    );
    expect(refused).toEqual([]);
  });

  test('the node daemon writes about nodes, pods and zones, never about networks', () => {
    expect(writes('heddle-node')).toEqual([
      'create authentication.k8s.io/tokenreviews',
      'create authorization.k8s.io/subjectaccessreviews',
      'create events',
      'create k8s.ovn.org/zonestatuses',
      'patch events',
      'patch k8s.ovn.org/zonestatuses/status',
      'patch nodes/status',
      'patch pods/status',
    ]);
  });

  test('metrics are for whom an administrator binds a role to', () => {
    expect(named<Role>('ClusterRole', 'heddle-metrics-reader').rules).toEqual([
      { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    ]);
    const bound = manifests
      .filter(({ kind }) => kind.endsWith('Binding'))
      .map((one) => (one as Manifest & { roleRef?: { name: string } }).roleRef?.name);
    expect(bound).not.toContain('heddle-metrics-reader');
  });

  test('the cluster manager writes what it owns', () => {
    expect(writes('heddle-cluster').filter((line) => !line.includes('k8s.ovn.org/'))).toEqual([
      'create authentication.k8s.io/tokenreviews',
      'create authorization.k8s.io/subjectaccessreviews',
      'create discovery.k8s.io/endpointslices',
      'create events',
      'create k8s.cni.cncf.io/network-attachment-definitions',
      'delete discovery.k8s.io/endpointslices',
      'delete k8s.cni.cncf.io/network-attachment-definitions',
      'patch apiextensions.k8s.io/customresourcedefinitions',
      'patch discovery.k8s.io/endpointslices',
      'patch events',
      'patch k8s.cni.cncf.io/ipamclaims/status',
      'patch k8s.cni.cncf.io/network-attachment-definitions',
      'patch nodes/status',
      'patch pods/status',
      'patch policy.networking.k8s.io/clusternetworkpolicies/status',
      'patch services/status',
    ]);
    const own = writes('heddle-cluster').filter((line) => line.includes('k8s.ovn.org/'));
    expect(own.filter((line) => !/^(patch|update) /.test(line))).toEqual([
      // Of tenants that agree.
      'create k8s.ovn.org/clusternetworkconnects',
      'delete k8s.ovn.org/clusternetworkconnects',
    ]);
  });

  test('tenants get networks of their namespace, not those across namespaces', () => {
    const resources = named<Role>('ClusterRole', 'heddle-network-editor').rules.flatMap(
      (rule) => rule.resources,
    );
    expect(resources).toEqual([
      'userdefinednetworks',
      'ovnsecondarynetworks',
      'networkconnects',
      'ipamclaims',
    ]);
    expect(
      manifests.filter(({ kind }) => kind.endsWith('Binding')).map(({ metadata }) => metadata.name),
    ).not.toContain('heddle-network-editor');
  });
});
