/** Annotations of networks and nodes that say what belongs to others: who had it keeps it. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { ObjectIntake } from '../../../src/model/zone/intake.ts';
import { zoneFacts } from '../../../src/model/zone/zone.ts';
import { node, rawNad, testSettings } from '../../support/cluster/cluster.ts';
import { feed } from '../../support/zone/zone-objects.ts';

const facts = (name: string, id: number, chassis: string, tunnel: string): KubeObject =>
  node(name, {
    'k8s.ovn.org/node-id': String(id),
    'k8s.ovn.org/node-chassis-id': chassis,
    'k8s.ovn.org/node-encap-ips': JSON.stringify([tunnel]),
    'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: `${tunnel}/16` }),
    'k8s.ovn.org/node-transit-switch-port-ifaddr': JSON.stringify({ ipv4: `100.88.0.${id}/16` }),
    'k8s.ovn.org/node-subnets': '{"default":["10.244.0.0/24"]}',
    'k8s.ovn.org/l3-gateway-config': '{"default":{"mode":""}}',
  });

const network = (
  name: string,
  id: number,
  { created = '2026-01-02T00:00:00Z', keys = '[]' } = {},
): KubeObject => {
  const config = {
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    topology: 'layer3',
    role: 'secondary',
    name,
    netAttachDefName: `of/${name}`,
    subnets: '10.30.0.0/16/24',
  };
  const nad = rawNad(`of/${name}`, config, {
    'k8s.ovn.org/network-id': String(id),
    'k8s.ovn.org/tunnel-keys': keys,
  });
  return { ...nad, metadata: { ...nad.metadata, creationTimestamp: created } };
};

class Zone {
  readonly facts = zoneFacts('n1', testSettings.cluster, { renderEverywhere: true });
  readonly #intake = new ObjectIntake(this.facts);

  feed(...objects: readonly KubeObject[]): this {
    for (const object of objects) feed(this.#intake, object);
    this.facts.refresh(0);
    return this;
  }

  get networks(): string[] {
    return this.facts.rendered.all().map(({ name }) => name);
  }

  get problems(): string[] {
    return [...this.facts.modelProblems()].map(({ object, message }) => `${object}: ${message}`);
  }
}

const zone = (): Zone => new Zone().feed(facts('n1', 2, 'c1', '172.18.0.1'));

describe('a NAD with the id of another network', () => {
  test.each(['a', 'z'])('called %s, that comes later, even from long ago, has no rows', (name) => {
    const later = zone()
      .feed(network('mine', 5))
      .feed(network(name, 5, { created: '2020-01-01T00:00:00Z' }));
    expect(later.networks).toEqual(['default', 'mine']);
    expect(later.problems).toEqual([
      `NetworkAttachmentDefinition of/${name}: network "${name}": the tunnel key 16711688 (network id 5) is that of network "mine" too; remove the annotations k8s.ovn.org/network-id and k8s.ovn.org/tunnel-keys from its NADs: the cluster manager gives others`,
    ]);
    later.feed(network(name, 6));
    expect(later.networks).toEqual(['default', 'mine', name].sort());
    expect(later.problems).toEqual([]);
  });

  test('takes nothing when it changes to it', () => {
    const changed = zone()
      .feed(network('a', 4), network('mine', 5))
      .feed(network('a', 5, { created: '2020-01-01T00:00:00Z' }));
    expect(changed.networks).toEqual(['default', 'mine']);
  });

  test('at a start the older one has it, in whatever order they come', () => {
    const [old, young] = [network('z', 5, { created: '2026-01-01T00:00:00Z' }), network('a', 5)];
    for (const order of [
      [old, young],
      [young, old],
    ])
      expect(zone().feed(...order).networks).toEqual(['default', 'z']);
  });

  test('is the default network’s never', () => {
    expect(zone().feed(network('a', 0)).networks).toEqual(['default']);
  });

  test('or with a tunnel key of one', () => {
    const later = zone()
      .feed(network('mine', 5))
      .feed(network('a', 6, { keys: '[16711688]' }));
    expect(later.networks).toEqual(['default', 'mine']);
  });
});

describe('a node that says to be another one', () => {
  const remote = (of: Zone): string[] => of.facts.remoteNodes.all().map(({ name }) => name);
  const [second, third] = [facts('n2', 3, 'c2', '172.18.0.2'), facts('n3', 4, 'c3', '172.18.0.3')];

  test.each([
    ['its tunnel address', facts('n2', 3, 'c2', '172.18.0.3')],
    ['its chassis', facts('n2', 3, 'c3', '172.18.0.2')],
    ['its id', facts('n2', 4, 'c2', '172.18.0.2')],
  ])('%s: is left out itself, whichever id is lower', (_what, forged) => {
    const of = zone().feed(second, third);
    expect(remote(of)).toEqual(['n2', 'n3']);
    of.feed(forged);
    expect(remote(of)).toEqual(['n3']);
    of.feed(second);
    expect(remote(of)).toEqual(['n2', 'n3']);
  });

  test('this node’s own are its own', () => {
    const of = zone().feed(third, facts('n2', 3, 'c2', '172.18.0.1'));
    expect(remote(of)).toEqual(['n3']);
  });
});
