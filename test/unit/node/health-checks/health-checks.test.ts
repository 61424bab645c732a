import { describe, expect, test } from 'vitest';
import {
  HEALTH_CHECKS,
  type HealthCheckColumns,
} from '../../../../src/node/health-checks/health-checks.ts';
import { hostUnits } from '../../../support/host/host-units.ts';
import { service, slice, withServices, type EndpointText } from '../../../support/zone/services.ts';
import { dualZone, type Zone } from '../../../support/zone/zones.ts';

const WEB = {
  type: 'LoadBalancer',
  clusterIPs: ['10.96.1.9', 'fd00:10:96::19'],
  externalTrafficPolicy: 'Local',
  healthCheckNodePort: 32_100,
};

/** `<port> <namespace>/<name>: <ready endpoints here>`, each with what it is there for. */
const checksOf = (zone: Zone): string[] =>
  hostUnits(zone).flatMap(({ rows }) =>
    rows
      .filter(({ database }) => database === HEALTH_CHECKS)
      .map(({ key, columns, object }) => {
        const { namespace, name, localEndpoints } = columns as unknown as HealthCheckColumns;
        return `${key} ${namespace}/${name}: ${localEndpoints} for ${object}`;
      }),
  );
const checksWith = (spec: object, endpoints: readonly EndpointText[]): string[] =>
  checksOf(
    withServices(
      dualZone,
      service('kube-system/web', { ...WEB, ...spec }),
      slice('kube-system/web', endpoints),
    ),
  );
const here = (address: string, conditions: object): EndpointText => ({
  addresses: [address],
  nodeName: 'ovn-worker',
  conditions,
});

describe('healthCheckNodePort of a service', () => {
  test('is answered with how many endpoints are ready on this node', () => {
    expect(
      checksWith({}, [
        '10.244.0.5 on ovn-worker',
        '10.244.0.6 on ovn-worker',
        '10.244.1.5 on ovn-worker2',
      ]),
    ).toEqual(['32100 kube-system/web: 2 for Service kube-system/web']);
  });

  test('is answered on a node without endpoints, too: that is what is asked', () => {
    expect(checksWith({}, ['10.244.1.5 on ovn-worker2'])).toEqual([
      '32100 kube-system/web: 0 for Service kube-system/web',
    ]);
  });

  test('counts no endpoint that ends, though it takes traffic until another one is ready', () => {
    expect(
      checksWith({}, [
        here('10.244.0.5', { ready: false, serving: true, terminating: true }),
        here('10.244.0.6', { ready: false }),
      ]),
    ).toEqual(['32100 kube-system/web: 0 for Service kube-system/web']);
  });

  test('counts a pod with addresses of both families once', () => {
    const zone = withServices(
      dualZone,
      service('kube-system/web', WEB),
      slice('kube-system/web', ['10.244.0.5 on ovn-worker'], { name: 'four' }),
      slice('kube-system/web', ['fd00:10:244::5 on ovn-worker'], { name: 'six' }),
    );
    expect(checksOf(zone)).toEqual(['32100 kube-system/web: 1 for Service kube-system/web']);
  });

  test('counts those of the primary network of its namespace', () => {
    const zone = withServices(
      dualZone,
      service('blue/web', WEB),
      slice('blue/web', ['10.244.0.5 on ovn-worker']),
      slice('blue/web', ['103.103.0.3 on ovn-worker'], { network: 'blue_blue' }),
    );
    expect(checksOf(zone)).toEqual(['32100 blue/web: 1 for Service blue/web']);
  });

  test.each([
    ['all endpoints take traffic from outside', { externalTrafficPolicy: 'Cluster' }],
    ['it has no load balancer', { type: 'NodePort' }],
    ['it has no such port', { healthCheckNodePort: undefined }],
  ])('is not opened where %s', (_, spec) => {
    expect(checksWith(spec, ['10.244.0.5 on ovn-worker'])).toEqual([]);
  });

  test('that is no port is an error of the service', () => {
    expect(() => service('kube-system/web', { ...WEB, healthCheckNodePort: 70_000 })).toThrow(
      /spec\.healthCheckNodePort/,
    );
  });
});
