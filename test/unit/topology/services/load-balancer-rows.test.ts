import { describe, expect, test } from 'vitest';
import {
  addLoadBalancer,
  LASTING_AFFINITY,
  type LoadBalancer,
} from '../../../../src/topology/services/load-balancer-rows.ts';
import { blue, defaultNetwork } from '../../../support/zone/zones.ts';
import { builtTexts } from '../part-texts.ts';

const vips = { '10.96.1.1:80': '10.0.0.3:8080' };
const textOf = (
  more: Partial<LoadBalancer> = {},
  affinity?: number,
  network: typeof blue = blue,
): string =>
  builtTexts((rows) => {
    addLoadBalancer(
      rows,
      {
        network,
        prefix: 'p_',
        service: { key: 'blue/web', ...(affinity === undefined ? {} : { affinity }) },
        hairpinAddresses: ['169.254.0.5', 'fd69::5'],
      },
      { protocol: 'TCP', scope: 'cluster', vips, ...more },
    );
  })[0] ?? '';

describe('a load balancer (reference/topology.md §15.1)', () => {
  test('rejects what has no endpoint, answers for no neighbour, and says whose it is', () => {
    expect(textOf()).toBe(
      'Load_Balancer p_Service_blue/web_TCP_cluster external_ids={k/kind=Service k/network=blue_blue k/owner=blue/web k/role=primary} options={event=false hairpin_snat_ip=169.254.0.5 fd69::5 neighbor_responder=none reject=true skip_snat=false} protocol=tcp vips={10.96.1.1:80=10.0.0.3:8080}',
    );
    expect(textOf({}, undefined, defaultNetwork)).toContain(
      'external_ids={k/kind=Service k/owner=blue/web}',
    );
  });

  test('keeps a client at its target for the time of the affinity, and by a hash for good', () => {
    expect(textOf({}, 600)).toContain('affinity_timeout=600');
    expect(textOf({}, LASTING_AFFINITY)).not.toContain('affinity_timeout');
    expect(textOf({}, LASTING_AFFINITY)).toContain('selection_fields=[ip_dst, ip_src]');
  });

  test('that keeps the source does not translate it; one that chassis fill in says its family', () => {
    expect(textOf({ keepsSource: true })).toContain('skip_snat=true');
    expect(textOf({ template: 'v6' })).toContain('address-family=ipv6');
    expect(textOf({ template: 'v4' })).toContain('template=true');
  });
});
