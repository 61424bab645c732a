import { describe, expect, test } from 'vitest';
import { controlPlaneProtection } from '../../../../src/topology/database/protection.ts';
import { exampleZone, ipv4Settings } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('what reaches ovn-controller (reference/topology.md §5)', () => {
  test('is limited kind by kind, for routers and for switches of pods, and so are log lines of ACLs', () => {
    expect(featureTexts([controlPlaneProtection], exampleZone)).toEqual([
      'Copp heddle-pod-switches meters={igmp=pod-switches-igmp-rate-limiter reject=pod-switches-reject-rate-limiter}',
      'Copp ovnkube-default meters={arp-resolve=arp-resolve-rate-limiter arp=arp-rate-limiter bfd=bfd-rate-limiter event-elb=event-elb-rate-limiter icmp4-error=icmp4-error-rate-limiter icmp6-error=icmp6-error-rate-limiter nd-ns-resolve=nd-ns-resolve-rate-limiter nd-ra-opts=nd-ra-opts-rate-limiter reject=reject-rate-limiter svc-monitor=svc-monitor-rate-limiter tcp-reset=tcp-reset-rate-limiter}',
      'Meter acl-logging fair=true unit=pktps',
      'Meter arp-rate-limiter fair=true unit=pktps',
      'Meter arp-resolve-rate-limiter fair=true unit=pktps',
      'Meter bfd-rate-limiter fair=true unit=pktps',
      'Meter event-elb-rate-limiter fair=true unit=pktps',
      'Meter icmp4-error-rate-limiter fair=true unit=pktps',
      'Meter icmp6-error-rate-limiter fair=true unit=pktps',
      'Meter nd-ns-resolve-rate-limiter fair=true unit=pktps',
      'Meter nd-ra-opts-rate-limiter fair=true unit=pktps',
      'Meter pod-switches-igmp-rate-limiter fair=true unit=pktps',
      'Meter pod-switches-reject-rate-limiter fair=true unit=pktps',
      'Meter reject-rate-limiter fair=true unit=pktps',
      'Meter svc-monitor-rate-limiter fair=true unit=pktps',
      'Meter tcp-reset-rate-limiter fair=true unit=pktps',
      'Meter_Band drop 20 action=drop rate=20 < Meter/acl-logging.bands',
      'Meter_Band drop 25 action=drop rate=25 < Meter/arp-rate-limiter.bands < Meter/arp-resolve-rate-limiter.bands < Meter/bfd-rate-limiter.bands < Meter/event-elb-rate-limiter.bands < Meter/icmp4-error-rate-limiter.bands < Meter/icmp6-error-rate-limiter.bands < Meter/reject-rate-limiter.bands < Meter/svc-monitor-rate-limiter.bands < Meter/tcp-reset-rate-limiter.bands < Meter/nd-ns-resolve-rate-limiter.bands < Meter/nd-ra-opts-rate-limiter.bands',
      'Meter_Band drop 250 action=drop rate=250 < Meter/pod-switches-reject-rate-limiter.bands < Meter/pod-switches-igmp-rate-limiter.bands',
    ]);
  });
  test('log lines at the rate that was set', () => {
    expect(
      featureTexts([controlPlaneProtection], {
        ...exampleZone,
        settings: { ...ipv4Settings, aclLoggingRateLimit: 5 },
      }).filter((text) => text.startsWith('Meter_Band')),
    ).toEqual([
      'Meter_Band drop 25 action=drop rate=25 < Meter/arp-rate-limiter.bands < Meter/arp-resolve-rate-limiter.bands < Meter/bfd-rate-limiter.bands < Meter/event-elb-rate-limiter.bands < Meter/icmp4-error-rate-limiter.bands < Meter/icmp6-error-rate-limiter.bands < Meter/reject-rate-limiter.bands < Meter/svc-monitor-rate-limiter.bands < Meter/tcp-reset-rate-limiter.bands < Meter/nd-ns-resolve-rate-limiter.bands < Meter/nd-ra-opts-rate-limiter.bands',
      'Meter_Band drop 250 action=drop rate=250 < Meter/pod-switches-reject-rate-limiter.bands < Meter/pod-switches-igmp-rate-limiter.bands',
      'Meter_Band drop 5 action=drop rate=5 < Meter/acl-logging.bands',
    ]);
  });
});
