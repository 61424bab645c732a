import { describe, expect, test } from 'vitest';
import type { RenderedTables } from '../../../../src/model/zone/rendered-networks.ts';
import { zoneFacts, type ZoneFacts } from '../../../../src/model/zone/zone.ts';
import {
  blue,
  bluePod,
  connectedZone,
  exampleZone,
  factsOf,
  green,
  localnet,
  more,
  putZone,
  type Zone,
} from '../../../support/zone/zones.ts';

const LAZY = { gracePeriod: 60 };
const rendered = ({ rendered: table }: RenderedTables): readonly string[] =>
  [...table.entries()].map(([name]) => name).toSorted();
const withPod = (zone: Zone): Zone => ({ ...zone, attachments: [bluePod] });

describe('a network has rows here', () => {
  test('when a pod of this node is on it; the default one always', () => {
    expect(rendered(factsOf(exampleZone, LAZY))).toEqual(['default']);
    expect(rendered(factsOf(withPod(exampleZone), LAZY))).toEqual([blue.name, 'default']);
  });

  test('when it is connected with one that is in use', () => {
    expect(rendered(factsOf(withPod(connectedZone), LAZY))).toEqual([
      blue.name,
      green.name,
      'default',
    ]);
    expect(rendered(factsOf(connectedZone, LAZY))).toEqual(['default']);
  });

  test('when it is a primary network of a namespace of which another one is in use', () => {
    const both = withPod({ ...exampleZone, networks: [...exampleZone.networks, more] });
    expect(rendered(factsOf(both, LAZY))).toEqual([blue.name, more.name, 'default'].toSorted());
  });

  test('when it has addresses of its own there: by its id, or by the number that the node was given for it', () => {
    const far = { ...blue, id: 5000, tunnelKeys: [16715790] };
    const facts: ZoneFacts = zoneFacts('ovn-worker', exampleZone.settings, LAZY);
    putZone(facts, undefined, withPod({ ...exampleZone, networks: [far] }));
    facts.refresh(0);
    expect([rendered(facts), facts.isAwaitingNumber(far.name)]).toEqual([['default'], true]);
    facts.masqueradeNumbers.put(far.name, { number: 4096 });
    facts.refresh(1);
    expect([rendered(facts), facts.isAwaitingNumber(far.name)]).toEqual([
      [far.name, 'default'],
      false,
    ]);
    expect(facts.rendered.peek(far.name)?.masquerade.v4).toEqual({
      gatewayRouter: '169.254.32.9',
      managementPort: '169.254.32.10',
    });
  });

  test('for a while after its last pod, and not longer', () => {
    const facts: ZoneFacts = zoneFacts('ovn-worker', exampleZone.settings, LAZY);
    putZone(facts, undefined, withPod(exampleZone));
    facts.refresh(0);
    putZone(facts, withPod(exampleZone), exampleZone);
    facts.refresh(10);
    expect([rendered(facts), facts.nextExpiry]).toEqual([[blue.name, 'default'], 70]);
    facts.refresh(70);
    expect([rendered(facts), facts.nextExpiry]).toEqual([['default'], undefined]);
  });
});

test('networks are found by their topology, and by whether they have a gateway', () => {
  const facts = factsOf({ ...exampleZone, networks: [...exampleZone.networks, localnet] });
  const keys = (source: { keys(): Iterable<readonly string[]> }): unknown =>
    [...source.keys()].flat();
  expect(keys(facts.renderedOf('localnet'))).toEqual([localnet.name]);
  expect(keys(facts.renderedWithGateway('localnet'))).toEqual([]);
  expect(keys(facts.renderedWithGateway('layer3'))).toContain(blue.name);
});

test('of a connection those are here that have a switch here', () => {
  const here = (zone: Zone): readonly string[] =>
    factsOf(zone)
      .membersHere('colored-net')
      .map(({ name }) => name);
  expect(here(connectedZone)).toEqual([blue.name, green.name]);
  const elsewhere = { ...green, nodeSubnets: new Map([['ovn-worker2', ['104.104.1.0/24']]]) };
  const networks = connectedZone.networks.map((one) => (one === green ? elsewhere : one));
  expect(here({ ...connectedZone, networks })).toEqual([blue.name]);
});
