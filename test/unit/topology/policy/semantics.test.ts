import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/api/objects.ts';
import type { RowOwner, RowTarget } from '../../../../src/desired/engine.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import { podPort } from '../../../../src/model/rules/names.ts';
import { NORTHBOUND } from '../../../../src/topology/rows/unit-rows.ts';
import { AclPipeline } from '../../../support/zone/acl-packets.ts';
import {
  onSameNetwork,
  OUTSIDE,
  PolicyWorld,
  PORTS,
  PROTOCOLS,
  type WorldPod,
} from '../../../support/zone/policy-world.ts';
import { PolicedZone } from '../../../support/zone/policed-zone.ts';
import { rowTexts } from '../../../support/zone/row-text.ts';
import { SeededRandom } from '../../../support/run/seeded-random.ts';
import { engineOver } from '../../../support/zone/zone-engine.ts';
import { exampleZone } from '../../../support/zone/zones.ts';

const SELF = exampleZone.node.name;
const POLICED = /^(policy|pods\/port)/;

const portOf = (pod: WorldPod | undefined): string | undefined =>
  pod?.node === SELF
    ? podPort(pod.namespace === 'blue' ? 'blue/blue' : 'default', pod.namespace, pod.name)
    : undefined;

describe('ACLs of random policies', () => {
  const random = new SeededRandom();

  test.each(Array.from({ length: 60 }, (_, run) => run))(
    `let through what the policies mean, and nothing else (seed ${random.seed}, run %i)`,
    () => {
      const world = new PolicyWorld(random);
      const pipeline = new AclPipeline(
        PolicedZone.of(exampleZone, ...world.objects()).rows(POLICED),
      );
      const ends = [...[...world.pods.values()].map(({ address }) => address), ...OUTSIDE];
      let allowed = 0;
      for (let i = 0; i < 150; i += 1) {
        const [src, dst] = [random.pick(ends), random.pick(ends)];
        const [from, to] = [world.podAt(src), world.podAt(dst)];
        if (src === dst || (from !== undefined && to !== undefined && !onSameNetwork(from, to)))
          continue;
        const protocol = random.pick(PROTOCOLS);
        const port = random.pick(PORTS);
        const [inport, outport] = [portOf(from), portOf(to)];
        const passes = pipeline.passes({
          ...(inport === undefined ? {} : { inport }),
          ...(outport === undefined ? {} : { outport }),
          src,
          dst,
          protocol: protocol.toLowerCase() as 'tcp',
          port,
        });
        const isAllowed = world.isAllowed(src, dst, protocol, port, SELF);
        expect(passes, `${src} → ${dst} ${protocol} ${port}`).toBe(isAllowed);
        if (isAllowed) allowed += 1;
      }
      expect(allowed).toBeGreaterThan(0);
    },
  );
});

test('what changed, built anew, gives the rows that building everything gives', () => {
  const random = new SeededRandom();
  for (let run = 0; run < 6; run += 1) {
    const world = new PolicyWorld(random);
    const zone = PolicedZone.of(exampleZone, ...world.objects());
    const rows = new Map<string, readonly DesiredRow[]>();
    const target: RowTarget = {
      database: NORTHBOUND,
      set: (owner: RowOwner, wanted) => rows.set(owner.id, wanted),
      has: (owner) => (rows.get(owner.id)?.length ?? 0) > 0,
    };
    const engine = engineOver(zone.facts);
    engine.connect([target]);
    engine.build();
    const admins = new Map<string, KubeObject>();
    for (let step = 0; step < 25; step += 1) {
      for (let i = 0; i <= random.below(2); i += 1) {
        const { object, isGone } = world.change();
        if (isGone) zone.remove(object);
        else zone.put(object);
      }
      if (random.is(0.3)) {
        const admin = world.adminPolicy();
        if (admins.has(admin.metadata.name) && random.is(0.5)) {
          zone.remove(admin);
          admins.delete(admin.metadata.name);
        } else {
          zone.put(admin);
          admins.set(admin.metadata.name, admin);
        }
      }
      engine.build();
      expect([...zone.facts.graph.failures()]).toEqual([]);
      const ofPolicies = [...rows]
        .filter(([id]) => POLICED.test((JSON.parse(id) as string[])[0] ?? ''))
        .flatMap(([, wanted]) => wanted);
      const fresh = PolicedZone.of(exampleZone, ...world.objects(), ...admins.values());
      expect(rowTexts(ofPolicies), `seed ${random.seed}, run ${run}, step ${step}`).toEqual(
        rowTexts(fresh.rows(POLICED)),
      );
    }
  }
});
