import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return torch.tensor([index, index * index], dtype=torch.float32), index % 2


loader = DataLoader(Squares(), batch_size=32, shuffle=True, num_workers=2)
for x, label in loader:
    print(x.shape, label.sum().item())
