/** Nodes of a lab as places to leave by: their labels, what daemons say of objects, and whether nodes are heard. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { heddleCommand, outputInside, runInside } from '../../../src/lab/exec.ts';
import { manifestsFolder } from '../../../src/lab/node-facts.ts';
import { settingsFile } from '../../../src/lab/objects.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { manifestsText } from './network-spaces.ts';

/** Gives a label to these nodes of a lab, and takes it from the others. */
export function labelNodes(
  { name: lab }: Pick<LabRecord, 'name'>,
  label: Readonly<Record<string, string>>,
  labelled: readonly string[],
): void {
  const path = join(manifestsFolder(lab), 'nodes.yaml');
  const nodes = parseAllDocuments(readFileSync(path, 'utf8')).map(
    (document) => document.toJS() as { metadata: { name: string } },
  );
  const labelsOf = (name: string): Readonly<Record<string, string>> => ({
    'kubernetes.io/hostname': name,
    ...(labelled.includes(name) ? label : {}),
  });
  writeFileSync(
    path,
    manifestsText(
      nodes.map(({ metadata: { name }, ...node }) => ({
        ...node,
        metadata: { name, labels: labelsOf(name) },
      })),
    ),
  );
}

/** An address of each family in the network of another card. */
export const ON_CARD = { v4: '10.9.0.50', v6: 'fd00:10:9::50' } as const;

/** A network that these nodes have a card in, and the host outside, where it answers by all of its addresses. */
export async function addCards(lab: LabRecord, nodes: readonly string[]): Promise<void> {
  const script = [
    'ip -n ext link add cards type bridge',
    'ip -n ext link set cards up',
    ...nodes.flatMap((node) => {
      const last = node.slice(1);
      return [
        `ip -n ext link add c-${node} type veth peer name card netns ${node}`,
        `ip -n ext link set c-${node} master cards up`,
        `ip netns exec ext ethtool -K c-${node} tx off`,
        `ip -n ${node} address add 10.9.0.${last}/24 dev card`,
        `ip -n ${node} address add fd00:10:9::${last}/64 dev card nodad`,
        `ip -n ${node} link set card up`,
        `ip netns exec ${node} ethtool -K card tx off`,
        // Of IPv4 the table of the card gets one by itself.
        `ip -n ${node} route add default via fd00:10:9::100 dev card metric 2000`,
      ];
    }),
    'ip -n ext address add 10.9.0.100/24 dev cards',
    'ip -n ext address add fd00:10:9::100/64 dev cards nodad',
  ];
  await outputInside(lab, ['sh', '-ec', script.join('\n')]);
}

/** What `heddle status` prints. */
export async function statusText(lab: LabRecord): Promise<string> {
  const words = heddleCommand(lab, ['status', '--config', settingsFile(lab.name)]);
  return (await runInside(lab, words)).stdout;
}

/** Where nodes are asked for their health. */
const HEALTH_PORT = 9107;

/** Nobody asks a node for its health, nor does it ask anybody; all else goes on. */
export async function cutHealth(lab: LabRecord, node: string): Promise<void> {
  const nft = (line: string): Promise<string> => outputInside(lab, ['on', node, 'nft', line]);
  await nft('add table inet cut');
  for (const hook of ['input', 'output']) {
    await nft(`add chain inet cut ${hook} { type filter hook ${hook} priority -500; }`);
    for (const port of ['dport', 'sport'])
      await nft(`add rule inet cut ${hook} tcp ${port} ${HEALTH_PORT} drop`);
  }
}

export async function healHealth(lab: LabRecord, node: string): Promise<void> {
  await outputInside(lab, ['on', node, 'nft', 'delete table inet cut']);
}
