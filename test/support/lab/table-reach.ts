/** Who reaches whom on truth-table.ts by objects alone, as src/reach works it out. */
import type { KubeObject } from '../../../src/api/objects.ts';
import type { Pod } from '../../../src/api/types.ts';
import { ReachWorld } from '../../../src/reach/reach-world.ts';
import { namespace, ownNetwork, policedPod, PolicedZone } from '../zone/policed-zone.ts';
import { blue, defaultNetwork, exampleZone, type Zone } from '../zone/zones.ts';
import {
  NETWORKS,
  PLACES,
  policyObjects,
  portsOf,
  SPACES,
  spaceName,
  type Labels,
  type NetworkName,
  type Place,
  type Step,
  type Via,
  type World,
} from './truth-table.ts';

const nadOf = (space: Place['space']): string => `${spaceName('primary', space)}/table`;

const zone: Zone = {
  ...exampleZone,
  networks: [
    defaultNetwork,
    {
      ...blue,
      nads: SPACES.map(nadOf),
      namespaces: SPACES.map((space) => spaceName('primary', space)),
    },
  ],
};

const RANGES: Readonly<Record<NetworkName, string>> = { default: '10.244.0', primary: '103.103.0' };

const addressOf = (network: NetworkName, key: Place['key']): string =>
  `${RANGES[network]}.${20 + PLACES.findIndex((place) => place.key === key)}`;

const worldOf = (network: NetworkName): World => ({
  name: (space) => spaceName(network, space),
  address: (key) => addressOf(network, key),
  subnet: `${RANGES[network]}.0/16`,
});

const objectsWith = ({ spaces = {}, pods = {} }: Labels = {}): readonly KubeObject[] =>
  NETWORKS.flatMap((network) => [
    ...SPACES.map((space) =>
      namespace(spaceName(network, space), {
        ns: space,
        ...(network === 'primary' ? ownNetwork : {}),
        ...spaces[space],
      }),
    ),
    ...PLACES.map(({ space, pod, key }) =>
      policedPod(`${spaceName(network, space)}/${pod}`, {
        labels: { pod, ...pods[key] },
        address: `${addressOf(network, key)}/24`,
        ports: portsOf(pod) as { name: string; containerPort: number }[],
        ...(network === 'primary' ? { on: nadOf(space) } : {}),
      }),
    ),
  ]);

/** What a step opens on a network. */
export function reachOfStep({
  labels,
  ...step
}: Omit<Step, 'open'>): (network: NetworkName, from: Place, to: Place, via: Via) => boolean {
  const objects = [...objectsWith(labels), ...policyObjects(step, worldOf)] as KubeObject[];
  const { facts } = PolicedZone.of(zone, ...objects);
  facts.refresh(0);
  const pods = objects.filter((one): one is Pod => one.kind === 'Pod');
  const reach = new ReachWorld(facts, pods, []);
  const classOf = (network: NetworkName, { space, pod }: Place) => {
    const key = `${spaceName(network, space)}/${pod}`;
    const member = reach.members.find((one) => one.pod === key && one.role === 'primary');
    if (member === undefined) throw new Error(`${key} is on no network`);
    return reach.classOf(member);
  };
  return (network, from, to, via) => {
    const [protocol = '', port] = via.split(' ');
    return reach
      .passages(classOf(network, from), classOf(network, to))
      .some(({ ports }) => ports.has(protocol as 'tcp' | 'udp' | 'sctp', Number(port)));
  };
}
