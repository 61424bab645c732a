/** `./dev up`: a lab, two tenants with the same subnet on it, and proof by packets that they are apart. */
import { join } from 'node:path';
import { networkName } from '../api/nad/network-name.ts';
import { networkId } from '../api/annotations/network-annotations.ts';
import type { KubeObject } from '../api/objects.ts';
import { connectivity, endpoints, matrixText, unexpected } from './connectivity.ts';
import type { OutwardCell } from './connectivity.ts';
import {
  outwardConnectivity,
  sharedSource,
  sharedSourceText,
  unexpectedOutward,
  type SharedSource,
} from './outward.ts';
import { expectManifests, startDaemons } from './daemons.ts';
import { up, type UpOptions } from './lifecycle.ts';
import { addManifests, awaitDataPlane, readObjects, type LabObjects } from './objects.ts';
import { settingsFile } from './objects.ts';
import { checkout, LabError, stateFolder } from './paths.ts';
import { attachPods, type AttachResult } from './pods.ts';
import { attachContainers } from './runtime/container-pods.ts';
import type { LabRecord } from './state-file.ts';

const EXAMPLE = join(checkout, 'examples/two-tenants');
/** The example has pods on n1, n2 and n3. */
const FEWEST_NODES = 3;
const HOST_LIMIT_S = 60;
/** In the virtual machine a program takes several times as long to start, and all share one processor. */
const VM_LIMIT_S = 300;

const NO_HOST =
  'host: a pod reaches the host of its node through a VRF, which not every kernel has; the one of --kind vm has them.';

/** Names of the networks that UserDefinedNetworks declare. */
export const networksOf = (objects: readonly KubeObject[]): string[] =>
  objects.map(({ metadata }) => networkName(metadata.namespace ?? '', metadata.name));

export interface DemoResult {
  readonly text: string;
  /** Pairs of pods that are not as they should be; empty when all is well. */
  readonly unexpected: readonly string[];
}

/** Brings up the lab with the example on it, measures who reaches whom, and prints what there is to see. */
export async function demo(options: UpOptions): Promise<DemoResult> {
  const { progress } = options;
  if (options.nodes < FEWEST_NODES)
    throw new LabError(
      `examples/two-tenants has pods on ${FEWEST_NODES} nodes: give --nodes 3 or more`,
    );
  const lab = await up(options);
  expectManifests(lab);
  const manifests = addManifests(lab.name, EXAMPLE);
  progress(`manifests of the two tenants are in ${manifests}`);
  const started = await startDaemons(lab);
  if (started.length > 0) progress(`heddle node runs on ${started.join(', ')}`);
  const declared = networksOf((await readObjects(lab.name)).networks);
  progress('waiting until the data plane of every node has the networks');
  const limit = lab.kind === 'host' ? HOST_LIMIT_S : VM_LIMIT_S;
  await awaitDataPlane(lab, declared, limit, progress);
  const objects = await readObjects(lab.name);
  progress(
    lab.kind === 'host'
      ? 'containerd starts on every node; it calls the CNI plugin for each pod'
      : 'plugging the pods in',
  );
  const attach = lab.kind === 'host' ? attachContainers : attachPods;
  const result = await attach(lab, objects.pods, objects.nads, { progress });
  progress(`${result.attachments.length} pods run; sending packets between all of them`);
  const { attachments } = result;
  const ends = endpoints(attachments);
  const seconds = lab.kind === 'host' ? 5 : 20;
  const cells = await connectivity(lab, ends, seconds);
  const outward = await outwardConnectivity(lab, ends, lab.kind === 'host' ? 3 : seconds);
  const shared = await sharedSource(lab, ends, seconds);
  const networkOf = new Map(ends.map((end) => [end.pod, end.nadKey]));
  const wrong = [
    ...unexpected(cells, (from, to) => networkOf.get(from) === networkOf.get(to)),
    ...unexpectedOutward(ends, outward),
    ...(shared?.seenAs.includes(null) === true ? [sharedSourceText(shared)] : []),
  ];
  const matrix = matrixText(ends, cells, outward);
  return {
    text: report(lab, objects, result, { matrix, shared, outward, wrong }),
    unexpected: wrong,
  };
}

interface Measured {
  readonly matrix: string;
  readonly shared: SharedSource | undefined;
  readonly outward: readonly OutwardCell[];
  readonly wrong: readonly string[];
}

function report(
  lab: LabRecord,
  objects: LabObjects,
  { attachments }: AttachResult,
  { matrix, shared, outward, wrong }: Measured,
): string {
  const ends = endpoints(attachments);
  const networks = objects.networks.map((network) => {
    const { namespace = '', name } = network.metadata;
    const nad = objects.nads.find(
      ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
    );
    const id = nad === undefined ? undefined : networkId(nad).value;
    const count = ends.filter((end) => end.nadKey === `${namespace}/${name}`).length;
    return `  ${networkName(namespace, name)}  id ${id ?? '?'}, ${subnetsOf(network)}, ${count} pods (UserDefinedNetwork ${namespace}/${name})`;
  });
  const firstPod = attachments[0]?.name ?? 'blue/web-1';
  const other = ends.at(-1)?.addresses[0] ?? '';
  return [
    `Networks, the same subnet in both:`,
    ...networks,
    '',
    'Who reaches whom, measured with packets:',
    '',
    matrix,
    '',
    ...(shared === undefined ? [] : [sharedSourceText(shared), '']),
    ...(outward.some(({ to, reach, ping }) => to === 'host' && reach === 'none' && ping === null)
      ? [NO_HOST, '']
      : []),
    wrong.length === 0
      ? 'Every pod reaches the pods of its own network on every node and the outside host, as its node, and no other pod.'
      : ['NOT as it should be:', ...wrong.map((line) => `  ${line}`)].join('\n'),
    '',
    'Next:',
    ...nextCommands(lab, firstPod, other).flatMap(([command, why]) => [
      `  # ${why}`,
      `  ${command}`,
    ]),
  ].join('\n');
}

function subnetsOf(network: KubeObject): string {
  const spec = network.spec as
    | { subnets?: string[]; layer3?: { subnets?: { cidr: string }[] } }
    | undefined;
  const subnets = spec?.layer3?.subnets?.map(({ cidr }) => cidr) ?? spec?.subnets ?? [];
  return subnets.join(' ');
}

function nextCommands(lab: LabRecord, pod: string, address: string): [string, string][] {
  const name = lab.name === 'default' ? '' : ` --name ${lab.name}`;
  const folder = stateFolder(lab.name);
  return [
    [
      `./dev lab run${name} -- on n1 ovn-nbctl show`,
      "node n1's Northbound database, as OVN shows it",
    ],
    [`./dev lab run${name} -- pod ${pod} ping -c3 ${address}`, 'a pod pings another one'],
    [`./dev status --config ${settingsFile(lab.name)}`, 'networks and nodes, as Heddle sees them'],
    ...(lab.kind === 'vm'
      ? []
      : [
          [
            `./dev diff --config ${settingsFile(lab.name)} --node n1`,
            'what others changed on node n1, as its daemon sees it; plan, check and show node likewise',
          ] satisfies [string, string],
        ]),
    [
      `$EDITOR ${folder}/manifests/two-tenants/blue-pods.yaml; ./dev lab attach${name}; ./dev lab matrix${name}`,
      'manifests that are changed are applied at once; plug new pods in and measure again',
    ],
    [`./dev lab shell${name} n1`, 'a shell on node n1'],
    [`./dev lab down${name}`, 'end it all'],
  ];
}
