/** Everything that docs/topology.md says is left out is said to who asks for it, in the way that stands beside it. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { egressServiceZone } from '../../support/zone/egress-services.ts';
import { parseManifest } from '../../../src/api/validation/manifest.ts';
import { zoneFacts } from '../../../src/model/zone/zone.ts';
import { ObjectIntake } from '../../../src/model/zone/intake.ts';
import { whyNotRendered } from '../../../src/model/rules/rendering.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { adminPolicy } from '../../support/zone/policed-zone.ts';
import { builtUnits } from '../../support/zone/built-rows.ts';
import { hostUnits } from '../../support/host/host-units.ts';
import { egressFirewall } from '../../../src/topology/egress/firewall.ts';
import {
  firewallWithNames,
  forwardingFacts,
  forwardingZone,
} from '../../support/zone/forwarded-dns.ts';
import { feed } from '../../support/zone/zone-objects.ts';

const TOPOLOGY = readFileSync(resolve(import.meta.dirname, '../../../docs/topology.md'), 'utf8');

/** First and second cells of the table. */
const rows: readonly (readonly [string, string])[] = (
  TOPOLOGY.split('## What this release leaves out\n')[1]?.split('\n## ')[0] ?? ''
)
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, what = '', where = '']) => [what, where]);

/** What a node says of an object, behind its name. */
function problemsOf(object: KubeObject): string[] {
  const facts = zoneFacts('w1', DEFAULT_SETTINGS);
  feed(new ObjectIntake(facts), object);
  const name = [object.metadata.namespace, object.metadata.name].filter(Boolean).join('/');
  return [...facts.modelProblems()]
    .filter((problem) => problem.object === `${object.kind} ${name}`)
    .map(({ message }) => message);
}

const annotated = (kind: string, annotation: string, value = 'x'): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: {
    name: 'a',
    ...(['Node', 'Namespace'].includes(kind) ? {} : { namespace: 'a' }),
    annotations: { [annotation]: value },
  },
  spec: { clusterIPs: [], config: '{}', nodeName: 'w1' },
});
/** The problem of such an object, of those that name the annotation. */
const toldOf = (kind: string, annotation: string, value?: string): string[] =>
  problemsOf(annotated(kind, annotation, value)).filter((message) => message.includes(annotation));

/** What is said, by the beginning of the row. */
/** Nodes forward nothing that pods ask DNS. */
function withoutForwarding() {
  const zone = forwardingZone();
  return { ...zone, settings: { ...zone.settings, forwardsDns: false } };
}

const SAID: Readonly<Record<string, () => readonly (string | undefined)[]>> = {
  'networks with transport': () => [
    whyNotRendered({ transport: 'no-overlay' }),
    whyNotRendered({ transport: 'evpn' }),
    whyNotRendered({ uplink: 'eth1' }),
  ],
  'the layout that Layer2 networks had': () =>
    toldOf('Node', 'k8s.ovn.org/layer2-topology-version', '1.0'),
  'advertised networks': () =>
    toldOf('NetworkAttachmentDefinition', 'k8s.ovn.org/route-advertisements'),
  'hybrid overlay': () => toldOf('Node', 'k8s.ovn.org/hybrid-overlay-node-subnet'),
  'external gateways by annotations': () => [
    ...toldOf('Namespace', 'k8s.ovn.org/routing-external-gws'),
    ...['routing-namespaces', 'routing-network', 'bfd-enabled'].flatMap((name) =>
      toldOf('Pod', `k8s.ovn.org/${name}`),
    ),
  ],
  'EgressServices that name a routing table by a name that is none of a VRF': () =>
    hostUnits(egressServiceZone({ table: 'blue' })).flatMap(({ problems }) =>
      problems.map((problem) => JSON.stringify(problem)),
    ),
  'EgressFirewalls with wildcards': () =>
    builtUnits(
      forwardingFacts(true, {
        ...withoutForwarding(),
        firewalls: [firewallWithNames('blue', '*.example.org')],
      }),
      [egressFirewall],
    ).flatMap(({ problems }) => problems),
  'other kinds of ovn-kubernetes': () =>
    ['RouteAdvertisements'].map((kind) => {
      const text = `{apiVersion: k8s.ovn.org/v1, kind: ${kind}, metadata: {name: a}, spec: {}}`;
      return parseManifest(text, 'a.yaml').unknownKinds[0]?.kind;
    }),
  'rules of administrators that deny or pass on by domain names': () =>
    problemsOf(
      adminPolicy('a', {
        priority: 1,
        subject: { namespaces: {} },
        egress: [{ action: 'Deny', to: [{ domainNames: ['example.org'] }] }],
      }),
    ),
  'services that are put to sleep': () => toldOf('Service', 'k8s.ovn.org/idled-at'),
};

test.each(rows)('%s: is said', (what) => {
  const [key, said] = Object.entries(SAID).find(([start]) => what.startsWith(start)) ?? [];
  expect(key, `who tests that row? ${what}`).toBeDefined();
  const messages = said?.() ?? [];
  expect(messages.length).toBeGreaterThan(0);
  expect(messages.every((message) => (message ?? '') !== '')).toBe(true);
});

test('every limit that is tested is in the table', () => {
  const missing = Object.keys(SAID).filter(
    (start) => !rows.some(([what]) => what.startsWith(start)),
  );
  expect(missing).toEqual([]);
  expect(rows.every(([, where]) => !/^here\b/.test(where))).toBe(true);
});

test('annotations that mean nothing unusual are no problem', () => {
  expect(toldOf('Node', 'k8s.ovn.org/layer2-topology-version', '2.0')).toEqual([]);
});
