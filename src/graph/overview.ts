/** Many networks as one picture: a box for each, with numbers; those that are alike are one box. Pure. */
import {
  isConnection,
  NUMBERED,
  type Box,
  type Line,
  type TopologyGraph,
} from './topology-graph.ts';

/** More networks than these are shown as an overview, unless somebody wants all of it. */
export const MOST_IN_DETAIL = 6;
/** Fewer that are alike have boxes of their own. */
const FEWEST_ALIKE = 3;
/** Of networks that are alike so many are named, and so many more in the tooltip. */
const NAMED = 4;
const IN_TOOLTIP = 100;

type NetworkOf = TopologyGraph['networks'][number];

/** `3 pods, 1 switch, 2 routers`. */
const numbersText = ({ counts = {} }: NetworkOf): string =>
  Object.entries(NUMBERED)
    .flatMap(([many, one]) => {
      const count = counts[many] ?? 0;
      return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
    })
    .join(', ');

/** The addresses that pods have for a gateway are what a network is known by. */
const subnetsOf = ({ lines, boxes }: NetworkOf): readonly string[] => {
  const pods = boxes.filter(({ kind }) => kind === 'pods').map(({ id }) => id);
  const switches = new Set(
    lines.flatMap(({ from, to }) => (pods.includes(from) ? [to] : pods.includes(to) ? [from] : [])),
  );
  return lines.flatMap(({ from, to, label }) =>
    label !== '' && (switches.has(from) || switches.has(to)) ? [label] : [],
  );
};

/** `linkOf`: where the picture of a network is. */
export function overviewOf(
  { networks, links }: TopologyGraph,
  node: string,
  linkOf: (network: string) => string | undefined = () => undefined,
): TopologyGraph {
  const networkOfBox = new Map(
    networks.flatMap(({ network, boxes }) => boxes.map(({ id }) => [id, network] as const)),
  );
  const ends = links.map(({ from, to }) => [networkOfBox.get(from), networkOfBox.get(to)] as const);
  const linked = new Set(ends.flat());
  const groups = Map.groupBy(networks, (one) => {
    const isAlone = one.network === 'default' || linked.has(one.network);
    return isAlone ? one.network : `like ${numbersText(one)}`;
  });
  const boxes: Box[] = [];
  for (const group of groups.values())
    if (group.length < FEWEST_ALIKE) boxes.push(...group.map((one) => boxOf(one, linkOf)));
    else boxes.push(boxOfAlike(group, linkOf));
  const seen = new Set<string>();
  const lines = ends.flatMap(([from, to]): readonly Line[] => {
    if (from === undefined || to === undefined) return [];
    const pair = JSON.stringify(from < to ? [from, to] : [to, from]);
    if (seen.has(pair)) return [];
    seen.add(pair);
    return [{ from, to, label: '' }];
  });
  return {
    networks: [{ network: `${networks.length} networks on ${node}`, boxes, lines }],
    links: [],
  };
}

function boxOf(one: NetworkOf, linkOf: (network: string) => string | undefined): Box {
  const { network } = one;
  const link = linkOf(network);
  const subnets = subnetsOf(one);
  const numbers = numbersText(one);
  const what = isConnection(network) ? 'ClusterNetworkConnect' : 'network';
  return {
    id: network,
    kind: 'network',
    title: network,
    lines: [...subnets, ...(numbers === '' ? [] : [numbers])],
    tooltip: `${what} ${network}: ${[...subnets, numbers].join(', ')}`,
    ...(link === undefined ? {} : { link }),
  };
}

/** Leads to the picture of the first: the others look like that. */
function boxOfAlike(
  group: readonly NetworkOf[],
  linkOf: (network: string) => string | undefined,
): Box {
  const names = group.map(({ network }) => network);
  const [first] = group as [NetworkOf];
  const link = linkOf(first.network);
  const more = (shown: number): string =>
    names.length > shown ? `, and ${names.length - shown} more` : '';
  return {
    id: `like ${first.network}`,
    kind: 'network',
    title: `${names.length} networks alike`,
    lines: [
      ...names.slice(0, NAMED),
      ...(names.length > NAMED ? [`and ${names.length - NAMED} more`] : []),
      `each: ${numbersText(first)}`,
    ],
    tooltip: names.slice(0, IN_TOOLTIP).join(', ') + more(IN_TOOLTIP),
    ...(link === undefined ? {} : { link }),
  };
}
