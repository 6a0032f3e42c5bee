"""Where the features of a convolutional network look: the middle that a config names is the one that pixels show."""

import pytest
import torch
from torch import nn

from weft.modalities.convnet import Basic, Bottleneck, ResNet
from weft.models.zoo.vision import folded_net, small_net

NETS = {
    "ResNet-50's strides": ResNet.Config(depths=(1, 1), widths=(4, 8), block=Bottleneck.Config(widen=2)),
    "strides in the first convolution": ResNet.Config(
        depths=(1, 1), widths=(4, 8), block=Bottleneck.Config(widen=2, early=True)
    ),
    "a small stem with strides": ResNet.Config(depths=(1, 1, 1), widths=(4, 4, 4), stem="small"),
    "pools": small_net(4),
    "a large stem, then pools": ResNet.Config(
        depths=(0, 0), widths=(4, 4), block=Basic.Config(), between="pool"
    ),
    "folded, then pools": folded_net(4, 3),
}  # fmt: skip


@pytest.mark.parametrize("net", NETS.values(), ids=NETS)
def test_a_feature_looks_at_the_middle_that_its_config_names(net):
    """Every column of pixels is lit in turn: those that change a feature lie around its middle."""
    built, side, step = net.build(channels=1).double().eval(), 192, net.stride
    for module in built.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.ones_(module.weight)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.constant_(module.weight, 0.1)
    dark = torch.ones(1, 1, 3 * step, side, dtype=torch.float64)
    lit = dark.repeat(side, 1, 1, 1)
    lit[torch.arange(side), :, :, torch.arange(side)] += 1.0
    with torch.inference_mode():
        changed = (built(lit) - built(dark)).abs().sum((1, 2)) > 1e-9  # columns of pixels, columns of features
    column = side // step // 2
    seen = changed[:, column].nonzero().ravel()
    assert seen.min() > 0 and seen.max() < side - 1
    middle = (seen.min() + seen.max() + 1).item() / 2
    assert middle / step - column == pytest.approx(net.middle)
    assert ResNet.Config(depths=(3, 4, 6, 3), block=Bottleneck.Config()).middle == 0.5 / 32
