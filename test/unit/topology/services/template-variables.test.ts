import { describe, expect, test } from 'vitest';
import { templateVariables } from '../../../../src/topology/services/template-variables.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { withGateway } from '../../../support/zone/zone-variants.ts';
import { dualZone, exampleZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('what a chassis fills in (reference/topology.md §15.2)', () => {
  test('is the addresses of its host, numbered family by family', () => {
    expect(featureTexts([templateVariables], dualZone)).toEqual([
      'Chassis_Template_Var C1 chassis=C1 variables={NODEIP_IPv4_0=172.18.0.3 NODEIP_IPv6_0=fc00:f853::3}',
    ]);
  });

  test('and the targets of a node port that has an endpoint on the host itself', () => {
    const agent = service('kube-system/agent', {
      type: 'NodePort',
      clusterIPs: ['10.96.0.7'],
      ports: [{ port: 80, nodePort: 30090 }],
    });
    const onHost = slice('kube-system/agent', ['172.18.0.3 on ovn-worker']);
    expect(featureTexts([templateVariables], withServices(exampleZone, agent, onHost))).toEqual([
      'Chassis_Template_Var C1 chassis=C1 variables={NODEIP_IPv4_0=172.18.0.3 Service__kube_system_agent__TCP__30090__node__router__template__IPv4=169.254.0.2:8080}',
    ]);
  });

  test('is nothing where node ports are off', () => {
    expect(featureTexts([templateVariables], withGateway({ nodePortEnable: false }))).toEqual([]);
  });
});
