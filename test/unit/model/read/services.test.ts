import { describe, expect, test } from 'vitest';
import type { DeclaredService } from '../../../../src/model/read/services.ts';
import { readService, serviceKind, withExternalIps } from '../../../../src/model/read/services.ts';
import type { ReadContext } from '../../../../src/model/read/object-kind.ts';
import { valueOf } from '../../../../src/model/read/reading.ts';
import { service } from '../../../support/zone/services.ts';
import { ipv4Settings } from '../../../support/zone/zones.ts';

const IP = { clusterIPs: ['10.96.1.1'] };
const read = (spec: object, status: object = {}) =>
  readService(service('blue/web', { ...IP, ...spec }, { ...status }));
const ingress = (...entries: readonly object[]) => ({ loadBalancer: { ingress: entries } });

describe('a service', () => {
  test('without cluster IPs is none: headless, a name, or not allocated yet', () => {
    expect(read({ clusterIPs: [] })).toBeUndefined();
    expect(read({ type: 'ExternalName', externalName: 'x' })).toBeUndefined();
  });

  test('has external addresses, and those of its load balancer, each once and none twice', () => {
    const balancer = { type: 'LoadBalancer', externalIPs: ['1.2.3.4', '10.96.1.1'] };
    expect(read(balancer, ingress({ ip: '1.2.3.4' }, { ip: '5.6.7.8' }))?.externalIps).toEqual([
      '1.2.3.4',
      '5.6.7.8',
    ]);
  });

  test('that is no load balancer has no address of one, nor where packets were translated before', () => {
    expect(read({}, ingress({ ip: '5.6.7.8' }))?.externalIps).toEqual([]);
    expect(
      read({ type: 'LoadBalancer' }, ingress({ ip: '5.6.7.8', ipMode: 'Proxy' }))?.externalIps,
    ).toEqual([]);
  });

  test('keeps clients for the time that it says, or for three hours', () => {
    expect(read({})?.affinity).toBeUndefined();
    expect(read({ sessionAffinity: 'ClientIP' })?.affinity).toBe(10_800);
    expect(
      read({
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      })?.affinity,
    ).toBe(60);
  });

  test('can be reached from outside by node ports, external addresses, or once it is a load balancer', () => {
    expect(read({})?.isExposed).toBe(false);
    expect(read({ ports: [{ port: 80, nodePort: 30080 }] })?.isExposed).toBe(true);
    expect(read({ externalIPs: ['1.2.3.4'] })?.isExposed).toBe(true);
    expect(read({ type: 'LoadBalancer' })?.isExposed).toBe(true);
  });

  test('with external addresses taken from it is exposed no more', () => {
    const facts = read({ externalIPs: ['1.2.3.4'] });
    if (facts === undefined) throw new Error('no service');
    expect(withExternalIps(facts, [])).toMatchObject({ externalIps: [], isExposed: false });
  });
});

describe('a service that would cost each node too much', () => {
  const declared = (spec: object): DeclaredService | undefined =>
    valueOf(
      serviceKind.read(service('blue/web', { ...IP, ...spec }), {
        settings: { ...ipv4Settings, serviceLimits: { ...ipv4Settings.serviceLimits, entries: 2 } },
      } as ReadContext<DeclaredService>),
    );
  const ports = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `p${index}`, port: index + 1 }));

  test('has none of its external addresses', () => {
    const found = declared({ externalIPs: ['1.2.3.4', '1.2.3.5'] });
    expect(found?.facts).toMatchObject({ externalIps: [], isExposed: false });
    expect(found?.facts.ports).toHaveLength(1);
    expect(found?.excess).toContain('--max-service-entries');
  });

  test('by its ports alone is not served at all', () => {
    expect(declared({ ports: ports(3) })?.facts.ports).toEqual([]);
    expect(declared({ ports: ports(2) })?.excess).toBeUndefined();
  });
});
