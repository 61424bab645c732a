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
