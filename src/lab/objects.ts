/** The objects of a lab: its manifests, and what the daemons made of them. */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import {
  networkAttachmentDefinitions,
  pods,
  userDefinedNetworks,
  zoneStatuses,
} from '../api/kinds.ts';
import { annotatedNetworkName, isOnDemand } from '../api/annotations/network-annotations.ts';
import { isWithoutNetworks } from '../api/annotations/pod-annotations.ts';
import { nadOfKey } from '../api/nad/nad-key.ts';
import { objectKey, type KubeObject } from '../api/objects.ts';
import type { Pod } from '../api/types.ts';
import type { ZoneStatus } from '../api/zone-status.ts';
import { telling } from '../process/waiting.ts';
import { openStore, type OpenObjects } from '../settings/object-store.ts';
import { annotatedNetworks } from '../model/rules/pod-plan.ts';
import { lackingNetworks } from '../model/rules/lacking-networks.ts';
import { ownNads } from './lab-pods.ts';
import { daemonSocket, expectDaemons, objectsState } from './daemons.ts';
import { familySettings, manifestsFolder } from './node-facts.ts';
import { LabError, nodeNames, nodeSockets, remote, stateFolder } from './paths.ts';
import type { LabRecord } from './state-file.ts';

/** Opens the objects of a lab for reading. */
const openObjects = (name: string): Promise<OpenObjects> =>
  openStore(
    { kind: 'manifests', manifests: manifestsFolder(name), state: objectsState(name) },
    { dryRun: true },
  );

/**
 * Settings for commands on this machine. Of each node what is its own: with `--node` a command asks that node's daemon, or reads its databases. Open
 * vSwitch's is not among it: to a command the host is the machine that it runs on. Pure.
 */
export const labSettings = (
  { name, kind, nodes }: LabRecord,
  where: Readonly<Record<string, string>>,
): object => ({
  ...where,
  ...(kind === 'vm'
    ? {}
    : {
        nodes: Object.fromEntries(
          nodeNames(nodes).map((node) => {
            const { nb, sb } = nodeSockets(stateFolder(name), node);
            const socket = daemonSocket(name, node);
            return [node, { nb: remote(nb), sb: remote(sb), socket }];
          }),
        ),
      }),
});

/** Where the lab's commands find them: `heddle status --config FILE`. */
export const settingsFile = (name: string): string => join(stateFolder(name), 'heddle.yaml');

/**
 * Copies a folder of manifests into the lab's; returns where it is now. One of the same name that is there already stays as it
 * is, with what people changed in it.
 */
export function addManifests(name: string, folder: string): string {
  if (!existsSync(folder)) throw new LabError(`there is no folder ${folder}`);
  const target = join(manifestsFolder(name), basename(folder));
  mkdirSync(manifestsFolder(name), { recursive: true });
  if (!existsSync(target)) cpSync(folder, target, { recursive: true });
  return target;
}

/** Writes the settings of a lab whose objects are its manifests. */
export function writeManifestSettings(lab: LabRecord): void {
  const where = {
    manifests: manifestsFolder(lab.name),
    state: objectsState(lab.name),
    ...familySettings(lab.families ?? 'v4'),
  };
  writeFileSync(settingsFile(lab.name), stringify(labSettings(lab, where)));
}

/**
 * What is still missing until every network is in the data plane of every node and every pod has its addresses, in words,
 * from what the daemons report. Pure.
 */
export function missing(
  nodes: readonly string[],
  networks: readonly string[],
  statuses: readonly ZoneStatus[],
  podObjects: readonly KubeObject[],
  nads: readonly KubeObject[],
): string[] {
  const zones = new Map(statuses.map((zone) => [zone.metadata.name, zone.status]));
  const onDemand = Map.groupBy(nads.filter(isOnDemand), (nad) => annotatedNetworkName(nad).value);
  /** On demand, and without a pod there: the node does not report it. */
  const isIdle = (network: string, node: string): boolean => {
    const keys = new Set(onDemand.get(network)?.map(({ metadata }) => objectKey(metadata)));
    return (
      keys.size > 0 &&
      !(podObjects as readonly Pod[]).some(
        (pod) =>
          pod.spec.nodeName === node &&
          [...annotatedNetworks(pod).keys()].some((nadKey) => keys.has(nadOfKey(nadKey))),
      )
    );
  };
  const lines: string[] = [];
  for (const node of nodes) {
    const zone = zones.get(node);
    const { networks: reports = [] } = zone ?? {};
    if (zone?.message !== undefined) lines.push(`${node}: ${zone.message}`);
    for (const network of networks) {
      const found = reports.find((each) => each.name === network);
      if (found?.state === 'Programmed' || found?.state === 'Unused') continue;
      if (found === undefined && zone !== undefined && isIdle(network, node)) continue;
      const why = found?.message === undefined ? '' : ` (${found.message})`;
      lines.push(`network ${network} on ${node}: ${found?.state ?? 'not reported'}${why}`);
    }
  }
  const ours = ownNads(nads);
  for (const pod of podObjects as readonly Pod[]) {
    const lacks = isWithoutNetworks(pod) ? [] : lackingNetworks(pod, ours);
    if (lacks.length > 0)
      lines.push(`pod ${objectKey(pod.metadata)} has no addresses yet on ${lacks.join(', ')}`);
  }
  return lines;
}

/** Waits until nothing is missing; fails with what is, after `seconds` or when a daemon has ended. */
export async function awaitDataPlane(
  lab: LabRecord,
  networks: readonly string[],
  seconds: number,
  progress: (line: string) => void = () => undefined,
): Promise<void> {
  let lines: readonly string[] = [];
  const found = lookUntilThere(lab, networks, seconds, (missingNow) => (lines = missingNow));
  await telling(() => lines.slice(0, 3).join('; '), progress, found);
}

async function lookUntilThere(
  lab: LabRecord,
  networks: readonly string[],
  seconds: number,
  looked: (missing: readonly string[]) => void,
): Promise<void> {
  const nodes = nodeNames(lab.nodes);
  const end = performance.now() + seconds * 1000;
  for (let round = 1; ; round += 1) {
    const began = performance.now();
    await using store = await openObjects(lab.name); // what it shows is of when it was opened
    const statuses = await store.objects.list(zoneStatuses);
    const lines = missing(
      nodes,
      networks,
      statuses,
      await store.objects.list(pods),
      await store.objects.list(networkAttachmentDefinitions),
    );
    if (lines.length === 0) return;
    looked(lines);
    if (round % 10 === 0) await expectDaemons(lab);
    if (performance.now() > end) {
      const complaints = store.complaints().map(({ text }) => text);
      throw new LabError(
        [`not in the data plane after ${seconds} s:`, ...lines, ...complaints].join('\n  '),
      );
    }
    // Reading very many manifests takes the processor from those who are to come to an end.
    await sleep(Math.max(200, 2 * (performance.now() - began)));
  }
}

export interface LabObjects {
  readonly pods: readonly KubeObject[];
  readonly nads: readonly KubeObject[];
  readonly networks: readonly KubeObject[];
}

export async function readObjects(name: string): Promise<LabObjects> {
  await using store = await openObjects(name);
  return {
    pods: await store.objects.list(pods),
    nads: await store.objects.list(networkAttachmentDefinitions),
    networks: await store.objects.list(userDefinedNetworks),
  };
}
