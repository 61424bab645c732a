import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { Pod } from '../../../src/api/types.ts';
import { podPort } from '../../../src/model/rules/names.ts';
import type { Member } from '../../../src/reach/members.ts';
import { ReachWorld } from '../../../src/reach/reach-world.ts';
import { AclPipeline } from '../../support/zone/acl-packets.ts';
import { PolicedZone } from '../../support/zone/policed-zone.ts';
import { onSameNetwork, PolicyWorld, PORTS, PROTOCOLS } from '../../support/zone/policy-world.ts';
import { SeededRandom } from '../../support/run/seeded-random.ts';
import { exampleZone } from '../../support/zone/zones.ts';

const SELF = exampleZone.node.name;

const reachOf = (zone: PolicedZone, objects: readonly KubeObject[]): ReachWorld => {
  zone.facts.refresh(0);
  return new ReachWorld(
    zone.facts,
    objects.filter((one): one is Pod => one.kind === 'Pod'),
    [],
  );
};

/** The interface that a pod sends and receives by. */
const endOf = (reach: ReachWorld, pod: string): Member =>
  reach.members.find((one) => one.pod === pod && one.role === 'primary') ?? expect.unreachable(pod);

const isOpen = (
  reach: ReachWorld,
  from: string,
  to: string,
  protocol: string,
  port: number,
): boolean =>
  reach
    .passages(reach.classOf(endOf(reach, from)), reach.classOf(endOf(reach, to)))
    .some(({ ports }) => ports.has(protocol.toLowerCase() as 'tcp', port));

const priorityOf = ({ spec }: KubeObject): unknown => (spec as { priority: number }).priority;

interface Asked {
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  readonly port: number;
}

function* everything(world: PolicyWorld): Iterable<Asked> {
  const pods = [...world.pods.keys()];
  for (const from of pods)
    for (const to of pods)
      for (const protocol of from === to ? [] : PROTOCOLS)
        for (const port of PORTS) yield { from, to, protocol, port };
}

describe('who reaches whom by random policies', () => {
  const random = new SeededRandom();

  test.each(Array.from({ length: 40 }, (_, run) => run))(
    `is what Kubernetes says of them (seed ${random.seed}, run %i)`,
    () => {
      const world = new PolicyWorld(random);
      const reach = reachOf(PolicedZone.of(exampleZone, ...world.objects()), world.objects());
      for (const { from, to, protocol, port } of everything(world)) {
        const [source, destination] = [world.pods.get(from), world.pods.get(to)];
        if (source === undefined || destination === undefined) continue;
        const wanted =
          onSameNetwork(source, destination) &&
          ['ovn-worker', 'ovn-worker2'].every((node) =>
            world.isAllowed(source.address, destination.address, protocol, port, node),
          );
        expect(isOpen(reach, from, to, protocol, port), `${from} → ${to} ${protocol} ${port}`).toBe(
          wanted,
        );
      }
    },
  );

  test.each(Array.from({ length: 40 }, (_, run) => run))(
    `is what the rows of administrators' policies let through (seed ${random.seed}, run %i)`,
    () => {
      const world = new PolicyWorld(random);
      // Of two with one priority OVN says nothing.
      const admins = new Map(
        [world.adminPolicy(), world.adminPolicy()].map((one) => [priorityOf(one), one]),
      );
      const objects = [...world.objects(), ...admins.values()];
      const zone = PolicedZone.of(exampleZone, ...objects);
      const pipeline = new AclPipeline(zone.rows(/^(policy|pods\/port)/));
      const reach = reachOf(zone, objects);
      for (const { from, to, protocol, port } of everything(world)) {
        const [source, destination] = [world.pods.get(from), world.pods.get(to)];
        // The rows of another node are with that one.
        if (source?.node !== SELF || destination?.node !== SELF) continue;
        if (!onSameNetwork(source, destination)) continue;
        const logicalPort = (namespace: string, name: string): string =>
          podPort(namespace === 'blue' ? 'blue/blue' : 'default', namespace, name);
        const passes = pipeline.passes({
          inport: logicalPort(source.namespace, source.name),
          outport: logicalPort(destination.namespace, destination.name),
          src: source.address,
          dst: destination.address,
          protocol: protocol.toLowerCase() as 'tcp',
          port,
        });
        expect(isOpen(reach, from, to, protocol, port), `${from} → ${to} ${protocol} ${port}`).toBe(
          passes,
        );
      }
    },
  );
});
